"""Tools of the native worker: the definition for the model, the capability that a call proves, and the function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.core.model import Tool
from mesocosm.core.turn import CalledTool

MOST_CHARACTERS = 16_000
"""Maximum number of characters of a tool's result that are shown."""
MOST_ARGUMENT = 200_000
"""Maximum number of characters of an argument; longer ones are refused."""

Arguments = Mapping[str, Any]


class ToolError(Exception):
    """A call that failed; the message is for the model."""


@dataclass(frozen=True, slots=True)
class WorkTool:
    """A tool with its capability. `run` gets checked arguments and returns the result as text, or raises ToolError."""

    tool: Tool
    capability: str
    run: Callable[[Arguments], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call: the text for the model, and the capability that it proves if it succeeded."""

    text: str
    capability: str = ""


def tool(name: str, description: str, required: Mapping[str, str], optional: Mapping[str, str] | None = None) -> Tool:
    """Return a tool with text arguments, each with its description."""
    texts = {**required, **(optional or {})}
    properties = {key: {"type": "string", "description": words} for key, words in texts.items()}
    return Tool(
        name,
        description,
        {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False},
    )


async def call(tools: Mapping[str, WorkTool], called: CalledTool) -> ToolResult:
    """Execute a call; the result reports any error. Only successful calls count as observed."""
    chosen = tools.get(called.name)
    if chosen is None:
        return ToolResult(f"Error: there is no tool {called.name[:80]!r}; there are {', '.join(tools)}.")
    wrong = wrong_arguments(chosen.tool, called.arguments)
    if wrong:
        return ToolResult(f"Error: {wrong}")
    try:
        return ToolResult(shortened(await chosen.run(called.arguments)), chosen.capability)
    except ToolError as error:
        return ToolResult(shortened(f"Error: {error}"))


def wrong_arguments(of: Tool, arguments: Any) -> str:
    """Return what is wrong with the arguments of a call; empty if they are valid."""
    names = list(of.parameters["properties"])
    if not isinstance(arguments, Mapping):
        return f"the arguments of {of.name} must be an object with {', '.join(names)}."
    for name, value in arguments.items():
        if name not in names:
            return f"{of.name} takes no argument {str(name)[:80]!r}; it takes {', '.join(names)}."
        if not isinstance(value, str):
            return f"the argument {name} of {of.name} must be a text."
        if len(value) > MOST_ARGUMENT:
            return f"the argument {name} of {of.name} is longer than {MOST_ARGUMENT} characters."
    missing = [name for name in of.parameters["required"] if name not in arguments]
    return f"{of.name} needs {', '.join(missing)}." if missing else ""


def shortened(text: str) -> str:
    """Return a text as it is shown to the model: a long one is cut, with a note."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n… ({len(text) - MOST_CHARACTERS} more characters are left out)"
