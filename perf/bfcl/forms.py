"""Right and wrong calls in the text formats of model families: how many are read as what they are."""

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.benchmarks.bfcl.mutated import Row, changed

from mesocosm.agents.call_text import TextCall
from mesocosm.benchmarks.builtin.bfcl import official
from mesocosm.benchmarks.builtin.bfcl.calls import calls_of
from mesocosm.benchmarks.builtin.bfcl.categories import CATEGORIES
from mesocosm.benchmarks.builtin.bfcl.checker import fault
from mesocosm.benchmarks.builtin.bfcl.gold import best_answer
from mesocosm.core.turn import Answer

Calls = Sequence[TextCall]


def _objects(calls: Calls, name: str = "name", arguments: str = "arguments") -> list[dict[str, Any]]:
    return [{name: call.name, arguments: call.arguments} for call in calls]


def _each(form: str, between: str = "") -> Callable[[Calls], str]:
    """Return a format that writes every call alike: `%n` is its name, `%a` its arguments, `%c` both as JSON."""

    def write(calls: Calls) -> str:
        whole = [json.dumps(one) for one in _objects(calls)]
        return between.join(
            form.replace("%n", call.name).replace("%c", one).replace("%a", json.dumps(call.arguments))
            for call, one in zip(calls, whole, strict=True)
        )

    return write


def _elements(call: str, parameter: str) -> Callable[[Calls], str]:
    """Return a format with an element for each argument: `%k` is its name, `%v` its value, text without quotes."""

    def write(calls: Calls) -> str:
        return "\n".join(
            call.replace("%n", one.name).replace(
                "%p", "\n".join(_element(parameter, *pair) for pair in one.arguments.items())
            )
            for one in calls
        )

    return write


def _element(form: str, name: str, value: Any) -> str:
    return form.replace("%k", name).replace("%v", value if isinstance(value, str) else json.dumps(value))


def _python(calls: Calls) -> str:
    spelled = (
        f"{one.name}({', '.join(f'{name}={value!r}' for name, value in one.arguments.items())})" for one in calls
    )
    return f"[{', '.join(spelled)}]"


FORMS: dict[str, Callable[[Calls], str]] = {
    "list in Python, as the leaderboard's prompt asks": _python,
    "Gemma: `tool_code`": lambda calls: f"```tool_code\n{_python(calls)}\n```",
    "Llama 3.1: `<\\|python_tag\\|>`": lambda calls: (
        "<|python_tag|>" + "; ".join(json.dumps(one) for one in _objects(calls, arguments="parameters"))
    ),
    "Llama 3.1: `<function=f>`": _each("<function=%n>%a</function>"),
    "Qwen, Hermes": _each("<tool_call>\n%c\n</tool_call>", "\n"),
    "the same without tags": _each("%c", "\n"),
    "Qwen3-Coder": _elements(
        "<tool_call>\n<function=%n>\n%p\n</function>\n</tool_call>", "<parameter=%k>\n%v\n</parameter>"
    ),
    "DeepSeek V3": _each("<｜tool▁call▁begin｜>function<｜tool▁sep｜>%n\n```json\n%a\n```<｜tool▁call▁end｜>", "\n"),
    "the same without tokens": _each("function%n\n```json\n%a\n```", "\n"),
    "DeepSeek V3.1": _each("<｜tool▁call▁begin｜>%n<｜tool▁sep｜>%a<｜tool▁call▁end｜>"),
    "GLM 4.5": _elements("<tool_call>%n\n%p\n</tool_call>", "<arg_key>%k</arg_key>\n<arg_value>%v</arg_value>"),
    "Mistral": lambda calls: f"[TOOL_CALLS]{json.dumps(_objects(calls))}",
    "Mistral, with names": _each("[TOOL_CALLS]%n[ARGS]%a"),
    "Phi-4": lambda calls: f"functools{json.dumps(_objects(calls))}",
    "Granite": lambda calls: f"<|tool_call|>{json.dumps(_objects(calls))}",
    "Cohere": lambda calls: f"Action: ```json\n{json.dumps(_objects(calls, 'tool_name', 'parameters'), indent=4)}\n```",
    "Kimi K2": _each("<|tool_call_begin|>functions.%n:0<|tool_call_argument_begin|>%a<|tool_call_end|>"),
    "MiniMax M2": _elements('<invoke name="%n">\n%p\n</invoke>', '<parameter name="%k">%v</parameter>'),
    "Functionary": _each(">>>%n\n%a", "\n"),
    "gpt-oss": _each(
        "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>%a<|call|>", "<|start|>assistant"
    ),
    "xLAM": lambda calls: json.dumps(_objects(calls)),
    "the same in a fence, after prose": lambda calls: f"I call:\n```json\n{json.dumps(_objects(calls), indent=2)}\n```",
}


def table(published: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    draw = random.Random(3)
    sound = [(row, calls) for row in published for calls in [_right(row)] if not _wrong(row, calls)]
    spoilt = [(row, calls, wrong) for row, calls in sound for wrong in [_spoilt(draw, calls)] if _wrong(row, wrong)]
    yield "| format | right calls | refused | refused by the leaderboard | wrong calls | accepted |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, write in FORMS.items():
        texts = [(row, Answer(write(calls))) for row, calls in sound]
        refused = sum(bool(_wrong(row, _read(row, answer))) for row, answer in texts)
        official_refused = sum(not _official(row, answer) for row, answer in texts)
        # Without quotes the text "5" and the number, "True" and the boolean are alike: not wrong in that format.
        wrong = [
            (row, Answer(write(calls))) for row, right, calls in spoilt if write(calls).lower() != write(right).lower()
        ]
        accepted = sum(not _wrong(row, _read(row, answer)) for row, answer in wrong)
        yield f"| {name} | {len(sound):,} | {refused:,} | {official_refused:,} | {len(wrong):,} | {accepted:,} |"


def _right(row: Row) -> Calls:
    return _read(row, best_answer(row["functions"], row["keys"], "python"))


def _read(row: Row, answer: Answer) -> Calls:
    return calls_of(answer, row["functions"])


def _wrong(row: Row, calls: Calls) -> str:
    return fault(row["functions"], calls, row["keys"], "python")


def _official(row: Row, answer: Answer) -> bool | None:
    (category,) = (one for one in CATEGORIES if one.name == row["category"])
    return official.is_right(category, row["functions"], row["keys"], answer)


def _spoilt(draw: random.Random, calls: Calls) -> Calls:
    """Return the calls with one value changed, or with another name if they have none."""
    given = list(copy.deepcopy(calls))
    at = draw.randrange(len(given))
    arguments = dict(given[at].arguments)
    if arguments:
        name = draw.choice(list(arguments))
        arguments[name] = json.loads(json.dumps(changed(draw, arguments[name])))
    given[at] = TextCall(given[at].name if arguments else f"{given[at].name}_2", arguments)
    return given
