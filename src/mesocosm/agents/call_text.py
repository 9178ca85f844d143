"""Read tool calls that a model writes as text, in the formats of the model families in use.

Marked formats (`<tool_call>`, `[TOOL_CALLS]`, `<|python_tag|>`, a fence `tool_code`, …) may follow prose, but nothing
may follow them: a call that a reply goes on talking about is a quotation. Without marks the text must consist of calls,
as JSON or Python, in a code fence or not, or end with JSON on a line of its own. Thoughts are left out. Servers may
have removed special tokens; a name in front of JSON is then a call only if the function is offered.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.agents.call_syntax import spelled_calls
from mesocosm.agents.loose_json import scan, value_at
from mesocosm.core.foreign import read_json
from mesocosm.core.thought import split_tags

Offered = Mapping[str, Any]
"""The offered functions by name, each with the JSON Schema of its parameters or None."""

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "tool_input", "params")
_NO_TOOL = ("directly_answer", "directly-answer")
"""What models of Cohere call to call nothing."""


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call; `arguments` should be an object, but may be any value that the model gave."""

    name: str
    arguments: Any


_TOKEN = re.compile(r"</?\|[^|<>\n]{1,40}\|")
_BAR = re.compile(r"(?<=<)｜|(?<=</)｜|｜(?=>)|(?<=DSML)｜")
_ENDING = re.compile(
    r"\s*(?:</s>|<eos>|<end_of_turn>|<\|(?:eot_id|eom_id|im_end|end|endoftext|end_of_text|end_of_sentence"
    r"|END_OF_TURN_TOKEN|call|return|user|observation|tool_calls?_end|tool_calls_section_end)\|>)\s*\Z"
)
_NAME = r"[A-Za-z_][\w.\-/]{0,120}"


def read_calls(text: str, offered: Offered) -> list[TextCall]:
    """Return the calls of a reply, also those of functions that are not offered; [] if it makes none."""
    answer = answer_of(text)
    calls = marked_calls(answer, offered) or _unmarked(answer, offered) or _trailing(answer, offered)
    return [call for call in calls if call.name not in _NO_TOOL]


def answer_of(text: str) -> str:
    """Return a reply without its thought, and without the tokens that end it."""
    text = split_tags(text)[1]
    if "｜" in text:
        text = _TOKEN.sub(lambda token: token[0].replace("▁", "_"), _BAR.sub("|", text))
    while (ending := _ENDING.search(text, max(0, len(text) - 60))) is not None:
        text = text[: ending.start()]
    return text.strip()


def marked_calls(text: str, offered: Offered) -> list[TextCall]:
    """Return the calls in marked formats at the end of a reply; [] if it does not end with such a call."""
    text = answer_of(text)
    found: list[TextCall] = []
    at = 0
    for start, end, calls in _blocks(text, offered):
        if not _JOIN.fullmatch(text, at, start):
            found = []
        found += calls
        at = end
    return found if _JOIN.fullmatch(text, at) else []


_JOIN = re.compile(
    r"(?:\s|[;,]|```|<\|tool_calls(?:_section)?_(?:begin|end)\|>|</?(?:minimax:tool_call|function_calls)>|</tool_calls?>"
    r"|</?\|DSML\|function_calls>|<\|/tool_call\|>|<\|(?:start|call|end)\|>(?:assistant)?)*"
)
"""What may stand between two calls, and after the last one."""

_MARKS = r"""(?<![`"'])(?:
      (?P<tag><(?:tool_calls?|TOOLCALL|start_function_call)>
        |<\|(?:tool_call|tool_call_start|python_tag|python_start|START_ACTION)\|>)
    | (?P<mistral>\[TOOL_CALLS\])
    | (?P<function><function=(?P<called>[^>\n]{1,120})>)
    | (?P<invoke><(?:\|DSML\|)?invoke\s+name="(?P<invoked>[^"\n]{1,120})"\s*>)
    | (?P<begin><\|tool_call_begin\|>)
    | (?P<harmony>(?:<\|channel\|>commentary[ ])?(?:to=functions\.(?P<to>[\w.\-]{1,120}))[^{\n]{0,80}<\|message\|>)
    )"""
_WORDS = r"""
      (?P<phi>functools)(?=\s*\[)
    | (?P<cohere>Action:\s*```(?:json)?\s*\n)
    | (?P<fence>```tool_(?:code|calls?)[ \t]*\n)
    | (?P<named>(?:>>>)?[A-Za-z_][\w.\-/]{0,120}?(?::\d{1,4})?[ \t]*\n?
        (?=```json|\{|<arg_key>))
    """
_OPENING = re.compile(rf"{_MARKS}|(?m:^)[ \t]*(?:{_WORDS})", re.VERBOSE)
_NEXT = re.compile(rf"(?:{_MARKS}|(?:{_WORDS}))", re.VERBOSE)
"""A call that follows another one, which need not begin a line."""

_CLOSING: Mapping[str, re.Pattern[str]] = {
    "tag": re.compile(
        r"</(?:tool_calls?|TOOLCALL)>|<end_function_call>|<\|(?:/tool_call|tool_call_end|python_end|END_ACTION)\|>"
        r"|(?=<(?:tool_calls?|TOOLCALL|start_function_call)>)"
        r"|(?=<\|(?:tool_call|tool_call_start|python_tag|python_start|START_ACTION)\|>)|\Z"
    ),
    "cohere": re.compile(r"```|\Z"),
    "fence": re.compile(r"```|\Z"),
    "function": re.compile(r"</function>|(?=<function=)|\Z"),
    "invoke": re.compile(r"</(?:\|DSML\|)?invoke>"),
    "begin": re.compile(r"<\|tool_call_end\|>|(?=<\|tool_call_begin\|>)|\Z"),
}


def _blocks(text: str, offered: Offered) -> Iterator[tuple[int, int, list[TextCall]]]:
    """Yield start, end and calls of every marked part of a text."""
    at, follows = 0, False
    while True:
        joined = _JOIN.match(text, at) if follows else None
        opening = None if joined is None else _NEXT.match(text, joined.end())
        opening = opening or _OPENING.search(text, at)
        if opening is None:
            return
        read = None if _is_cited(text, opening.start()) else _block(text, opening, offered)
        at, follows = (opening.end(), False) if read is None else (read[1], True)
        if read is not None:
            yield opening.start(), read[1], read[0]


def _is_cited(text: str, at: int) -> bool:
    """Return whether a position is in a line that cites, which begins with `> `."""
    return text.startswith("> ", text.rfind("\n", 0, at) + 1)


def _block(text: str, opening: re.Match[str], offered: Offered) -> tuple[list[TextCall], int] | None:
    """Return the calls of a marked part and where it ends, None if it has none."""
    at = opening.end()
    kind = next(name for name in _KINDS if opening[name] is not None)
    if kind in ("mistral", "phi", "harmony", "named"):
        return _of_json(text, at, kind, opening, offered)
    value = _json_end(text, at)
    closing = _CLOSING[kind].search(text, at if value is None else value[1])
    if closing is None:
        return None
    body = text[at : closing.start()].strip()
    if not body and not closing[0]:
        return None
    if kind in ("function", "invoke"):
        name = opening["called"] or opening["invoked"]
        calls = [TextCall(name, _parameters(body, name, offered))]
    else:
        calls = _token_call(body) if kind == "begin" else _body(body, offered)
    # What has no arguments is no call: it is cut off, or talks about calls.
    if not calls or (kind in ("function", "invoke", "begin") and not isinstance(calls[0].arguments, dict)):
        return None
    return calls, closing.end()


_KINDS = ("tag", "mistral", "function", "invoke", "begin", "harmony", "phi", "cohere", "fence", "named")
_ARGS = re.compile(rf"\s*(?P<name>{_NAME})(?:\[CALL_ID\][^\[\]\n]{{0,80}})?(?:\[ARGS\])?\s*(?={{)")
_BRACKET = re.compile(r"\s*(?=[\[{])")
_FENCE_END = re.compile(r"\s*```")
_JSON_FENCE = re.compile(r"\s*```(?:json)?\s*")


def _of_json(
    text: str, at: int, kind: str, opening: re.Match[str], offered: Offered
) -> tuple[list[TextCall], int] | None:
    """Return the calls of one JSON value after a mark, or after the name of a function."""
    name = ""
    if kind == "mistral" and (named := _ARGS.match(text, at)) is not None:
        name, at = named["name"], named.end()
    elif kind == "harmony":
        name = opening["to"]
    elif kind == "named":
        whole = opening["named"].strip().removeprefix(">>>").partition(":")[0].strip()
        names = (whole.removeprefix(prefix) for prefix in ("", "functions.", "function", "functions"))
        name = next((one for one in names if one in offered), "")
        if not name:
            return None
        if text.startswith("<arg_key>", at):
            pairs = _PAIRS.match(text, at)
            return None if pairs is None else ([TextCall(name, _pairs(pairs[0], name, offered))], pairs.end())
    fence = _JSON_FENCE.match(text, at)
    start = fence.end() if fence else at
    if (closed := _json_end(text, start)) is None:
        return None
    value, end = closed
    if fence is not None and (after := _FENCE_END.match(text, end)) is not None:
        end = after.end()
    calls = [TextCall(name, value)] if name else _of_values([value], offered)
    return (calls, end) if calls else None


def _json_end(text: str, at: int) -> tuple[Any, int] | None:
    """Return the JSON object or list that begins at a position, and where it ends."""
    begins = _BRACKET.match(text, at)
    if begins is None:
        return None
    found = value_at(text, begins.end())
    return None if found is None else (found.value, found.end)


_KIMI = re.compile(rf"(?:functions\.)?(?P<name>{_NAME}?)(?::\d{{1,4}})?\s*<\|tool_call_argument_begin\|>")
_DEEPSEEK = re.compile(rf"(?:function\s*<\|tool_sep\|>\s*(?P<old>{_NAME})\s*\n|(?P<name>{_NAME})\s*<\|tool_sep\|>)")


def _token_call(body: str) -> list[TextCall]:
    """Return the call between the tokens of DeepSeek or Kimi."""
    head = _KIMI.match(body) or _DEEPSEEK.match(body)
    if head is None:
        return []
    name = head["name"] or head["old"]
    rest = body[head.end() :].strip().removeprefix("```json").removesuffix("```").strip()
    return [TextCall(name, decoded(rest))]


_FUNCTION = re.compile(r"<function=(?P<called>[^>\n]{1,120})>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"""<(?:\|DSML\|)?parameter(?:=(?P<old>[^>\n]{1,120})|\s+name="(?P<name>[^"\n]{1,120})"(?:\s+string="(?P<text>true|false)")?)\s*>
    (?P<value>.*?)(?:</(?:\|DSML\|)?parameter>|(?=<parameter=)|\Z)""",
    re.DOTALL | re.VERBOSE,
)
_PAIRS = re.compile(r"(?:\s*<arg_key>[^<]{1,200}</arg_key>\s*<arg_value>.*?</arg_value>)+", re.DOTALL)
_PAIR = re.compile(r"<arg_key>\s*([^<]{1,200}?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_ESCAPED = re.compile(r"<escape>(.*?)<escape>", re.DOTALL)
_GEMMA = re.compile(rf"call:(?P<name>{_NAME})\s*(?={{)")


def _body(body: str, offered: Offered) -> list[TextCall]:
    """Return the calls between two tags."""
    functions = [
        TextCall(found["called"], _parameters(found["body"], found["called"], offered))
        for found in _FUNCTION.finditer(body)
    ]
    if functions:
        return functions
    head = body.partition("<arg_key>")[0].strip()
    if "<arg_key>" in body and re.fullmatch(_NAME, head):
        return [TextCall(head, _pairs(body, head, offered))]
    if re.fullmatch(_NAME, body) and body in offered:
        return [TextCall(body, {})]
    if (gemma := _GEMMA.match(body)) is not None:
        quoted = _ESCAPED.sub(lambda found: msgspec.json.encode(found[1]).decode(), body[gemma.end() :])
        return [TextCall(gemma["name"], decoded(quoted))]
    return _unmarked(body, offered)


def _parameters(body: str, name: str, offered: Offered) -> Any:
    """Return the arguments in a body: JSON, or an element for each."""
    found = list(_PARAMETER.finditer(body))
    if not found:
        return decoded(body.strip() or "{}")
    return {
        (one["name"] or one["old"]).strip(): one["value"]
        if one["text"] == "true"
        else _typed(one["value"], name, (one["name"] or one["old"]).strip(), offered)
        for one in found
    }


def _pairs(body: str, name: str, offered: Offered) -> dict[str, Any]:
    return {key: _typed(value, name, key, offered) for key, value in _PAIR.findall(body)}


def _typed(text: str, name: str, parameter: str, offered: Offered) -> Any:
    """Return the value of a parameter in bare text: the text itself if that is its type, otherwise JSON if it is."""
    schema = offered.get(name)
    declared = schema.get("properties", {}).get(parameter) if isinstance(schema, Mapping) else None
    text = text.removeprefix("\n").removesuffix("\n")
    if isinstance(declared, Mapping) and declared.get("type") == "string":
        return text
    if text.strip() in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text.strip()]
    return decoded(text)


_FENCE_LINE = re.compile(r"(?m)^[ \t]*```[\w+-]*[ \t]*$")
_AFTER = re.compile(r"(?:[\s;,]|```(?:json)?)*")
_BETWEEN = re.compile(r"[\s;,]*")


def unfenced(text: str) -> str:
    """Return a text without the lines that open or close code, and without backticks around it."""
    return _FENCE_LINE.sub("", text).strip().strip("`").strip()


def _unmarked(text: str, offered: Offered) -> list[TextCall]:
    """Return the calls of a text that consists of nothing else."""
    inner = unfenced(text)
    if inner.startswith(("{", "[")) and (values := _values(inner)) is not None:
        return _of_values(values, offered)
    return [TextCall(name, arguments) for name, arguments in spelled_calls(inner)]


def _values(text: str) -> list[Any] | None:
    """Return the JSON values of a text that consists of nothing else; None for any other text."""
    found = scan(text)
    at = 0
    if found.alone:
        return [found.values[0].value]
    for one in found.values:
        if not _BETWEEN.fullmatch(text, at, one.start):
            return None
        at = one.end
    return [one.value for one in found.values] if found.values and _BETWEEN.fullmatch(text, at) else None


def _of_values(values: Sequence[Any], offered: Offered) -> list[TextCall]:
    """Return the calls that JSON values spell; [] if none of them is one. Anything among calls is a call of nothing."""
    items = [item for value in values for item in items_of(value)]
    calls = [json_call(item) for item in items]
    if not any(call and (call.name in offered or _is_explicit(item)) for call, item in zip(calls, items, strict=True)):
        return []
    return [call or TextCall("", None) for call in calls]


def _trailing(text: str, offered: Offered) -> list[TextCall]:
    """Return the calls in the JSON values that end a text, each at the beginning of a line."""
    values: list[Any] = []
    end = len(text)
    for found in reversed(scan(text).values) if "{" in text else ():
        if (
            not _AFTER.fullmatch(text, found.end, end)
            or text[text.rfind("\n", 0, found.start) + 1 : found.start].strip()
        ):
            break
        values.insert(0, found.value)
        end = found.start
    return _of_values(values, offered)


def items_of(value: Any) -> list[Any]:
    """Return the elements of a list, also of `{"tool_calls": […]}`; of another value itself."""
    inner = value.get("tool_calls") if isinstance(value, dict) else value
    return inner if isinstance(inner, list) else [value]


def json_call(item: Any) -> TextCall | None:
    """Return the call that an object spells: with fields for name and arguments, or `{"<function>": {…}}`."""
    if not isinstance(item, dict):
        return None
    named = _named(item)
    name = next((named[key] for key in NAME_KEYS if isinstance(named.get(key), str)), None)
    if name is not None:
        return TextCall(name, decoded(next((named[key] for key in ARGUMENT_KEYS if key in named), {})))
    if len(item) == 1:
        ((name, arguments),) = item.items()
        return TextCall(name, decoded(arguments))
    return None


def _named(item: Mapping[str, Any]) -> Mapping[str, Any]:
    function, action = item.get("function"), item.get("action")
    if isinstance(function, dict):
        return function
    return action if isinstance(action, dict) and not any(key in item for key in NAME_KEYS) else item


def _is_explicit(item: Any) -> bool:
    """Return whether an object has fields for a name and for arguments."""
    if not isinstance(item, dict):
        return False
    named = _named(item)
    return any(isinstance(named.get(key), str) for key in NAME_KEYS) and any(key in named for key in ARGUMENT_KEYS)


def decoded(arguments: Any) -> Any:
    """Return arguments decoded from JSON text, or unchanged if they are not JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return read_json(arguments)
    except (ValueError, RecursionError):
        pass
    found = scan(arguments)
    return found.values[0].value if found.alone else arguments
