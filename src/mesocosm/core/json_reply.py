"""The one JSON object that a model was asked to reply with, read strictly."""

import json
from typing import Any


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raises ValueError for a duplicate name: which is meant is not known."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def object_in(reply: str) -> dict[str, Any]:
    """Return the one JSON object in a reply, with or without a fence. Raises ValueError."""
    text = reply.strip()
    if text.startswith("```") and text.endswith("```") and text.count("```") == 2:
        text = text[3:-3].strip().removeprefix("json")
    try:
        said = json.loads(text, object_pairs_hook=members_once)
    except RecursionError:
        raise ValueError("it nests too deep") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(said, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the reply is invalid
    return said
