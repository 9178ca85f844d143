"""Resolve references of the form `package.module:attribute`."""

from importlib import import_module
from operator import attrgetter
from typing import Any


def resolved(reference: Any) -> Any:
    """Return the object that a text `module:attribute` refers to; return anything else unchanged.

    Raises ValueError for any other form of text, ImportError for a missing module or attribute.
    """
    if not isinstance(reference, str):
        return reference
    module, colon, attribute = reference.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"{reference!r} names no object; write it as 'package.module:attribute'")
    loaded = import_module(module)
    try:
        return attrgetter(attribute)(loaded)
    except AttributeError as error:
        raise ImportError(f"module {module!r} has no {attribute!r}, which {reference!r} names") from error
