"""Extract the calls of an answer: native tool calls, or calls that its text spells."""

from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.agents.call_text import TextCall, decoded, read_calls
from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.benchmarks.builtin.bfcl.literals import source_calls
from mesocosm.benchmarks.builtin.bfcl.tools import own_names, tool
from mesocosm.core.turn import Answer


def calls_of(answer: Answer, functions: Sequence[Mapping[str, Any]], language: Language = "python") -> list[TextCall]:
    """Return the calls of an answer, each with the function's own name if it is one of `functions`.

    Text is read as `agents.call_text` reads it, and for Java and JavaScript also as calls in that syntax.
    """
    names = own_names(functions)
    if answer.tool_calls:
        calls = [TextCall(call.name, decoded(call.arguments)) for call in answer.tool_calls]
    else:
        schemas = {str(function["name"]): tool(function, language).parameters for function in functions}
        calls = read_calls(answer.text, {name: schemas[own] for name, own in names.items()})
        if not calls and language != "python":
            calls = [TextCall(name, arguments) for name, arguments in source_calls(answer.text)]
    return [TextCall(names.get(call.name, call.name), call.arguments) for call in calls]
