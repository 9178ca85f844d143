"""Convert a dataset's prompt cell into messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.core.reading import format_value

__all__ = ["NoPrompt", "conversation"]

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class NoPrompt(ValueError):
    """A cell is not a valid prompt: the problem, and its fix. `system`: the cell is the system prompt's."""

    def __init__(self, message: str, fix: str = "", *, system: bool = False) -> None:
        super().__init__(message)
        self.fix = fix
        self.system = system


def conversation(prompt: object, system: object) -> tuple[dict[str, Any], ...]:
    """Return the messages of a prompt (a text, or a list of messages), preceded by the system prompt's message.

    A text of only white space counts as missing. Raises NoPrompt.
    """
    first = _system(system)
    if prompt is None or (isinstance(prompt, str) and (not prompt or prompt.isspace())):
        return first
    if isinstance(prompt, str):
        return (*first, {"role": "user", "content": prompt})
    if not isinstance(prompt, Sequence) or not prompt:
        what = "an empty list" if isinstance(prompt, Sequence) else format_value(prompt)
        raise NoPrompt(f"is {what}, no text and no list of messages", 'write a text, or [{"role": …, "content": …}]')
    messages = tuple(_message(place, item) for place, item in enumerate(prompt, 1))
    if first and messages[0]["role"] in ("system", "developer"):
        raise NoPrompt("begins with a system message, and the row has a system prompt too", "keep one of the two")
    return (*first, *messages)


def _system(system: object) -> tuple[dict[str, Any], ...]:
    if system is None:
        return ()
    if not isinstance(system, str):
        raise NoPrompt(f"is {format_value(system)}, no text", system=True)
    return () if not system or system.isspace() else ({"role": "system", "content": system},)


def _message(place: int, item: object) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise NoPrompt(f"message {place} is {format_value(item)}, no object", 'write {"role": "user", "content": "…"}')
    # Tabular formats give every message every field; null means that the field is absent.
    message = {key: value for key, value in item.items() if value is not None or key == "content"}
    role = message.get("role")
    if role not in ROLES:
        raise NoPrompt(f"message {place} has the role {format_value(role)}", f"choose one of {', '.join(ROLES)}")
    content = message.get("content")
    if not isinstance(content, (str, list)) and not (content is None and role == "assistant"):
        raise NoPrompt(f"message {place} has the content {format_value(content)}, no text and no list of parts")
    return message
