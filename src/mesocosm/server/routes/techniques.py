"""`/api/techniques`: techniques that runs can use."""

import inspect
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path

from mesocosm.agents.technique import technique_class
from mesocosm.core.failure import UsageError
from mesocosm.core.registry import TECHNIQUES, fold
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.technique import TechniqueDocument

router = APIRouter(prefix="/api/techniques", tags=["techniques"])

VERSION = "1.0.0"
"""The version of all techniques; vows require ^1.0."""


@router.get("", response_model=list[TechniqueDocument], **access(Access.PUBLIC))
def list_techniques() -> list[TechniqueDocument]:
    """List all techniques with their parameters, by name."""
    found = []
    for name in _names():
        # A plug-in that cannot be imported must not hide the others.
        with suppress(UsageError):
            found.append(_document(name))
    return found


@router.get("/{technique_id}", response_model=TechniqueDocument, **access(Access.PUBLIC))
def get_technique(
    technique_id: Annotated[str, Path(max_length=200, description="Name of the technique.")],
) -> TechniqueDocument:
    """Return a technique with its parameters."""
    # Compare with registered names only: the registry would import a module by its name.
    found = next((name for name in _names() if fold(name) == fold(technique_id)), None)
    if found is None:
        raise Refusal(404, f"there is no technique {technique_id!r}; there are {', '.join(_names())}")
    return _document(found)


def _names() -> list[str]:
    return [entry.name for entry in TECHNIQUES.entries()]


def _document(name: str) -> TechniqueDocument:
    technique = technique_class(name)
    schema = technique.parameters.model_json_schema()
    schema.pop("description", None)
    words = [inspect.getdoc(technique) or "", inspect.getdoc(technique.parameters) or ""]
    return TechniqueDocument(
        id=name, version=VERSION, description="\n\n".join(part for part in words if part), config_schema=schema
    )
