"""Questions of bfcl's form made by chance, and answers to them: right ones, and right ones with a few changes.

An answer is a row: `category`, `functions`, `keys`, and `calls` (name and arguments as JSON text) or `text`.
"""

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mesocosm.benchmarks.builtin.bfcl import official_literals
from mesocosm.benchmarks.builtin.bfcl.categories import CATEGORIES, Category, Language
from mesocosm.benchmarks.builtin.bfcl.official import is_right
from mesocosm.benchmarks.builtin.bfcl.official_syntax import NoCalls, decoded
from mesocosm.core.ids import digest
from mesocosm.core.turn import Answer, CalledTool

# ruff: noqa: E501
Row = dict[str, Any]
Draw = random.Random

WORDS = [
    "",
    "a",
    "Red",
    "New York, NY",
    "it's",
    'say "hi"',
    "x-1",
    "x_1",
    "a.b",
    "C:\\d",
    "line\nbreak",
    "é ü",
    "5",
    "true",
]
NAMES = ["data", "user.name", "items[0]", "getAll()", "n", "null", "undefined", "this", "None", "NULL"]
NUMBERS = [0, 1, -1, 2, 10, 255, 1000000, 2**31, 2**63, -(2**63)]
REALS = [0.0, 0.5, -1.5, 3.0, 1e10, 1e-7, 100.25]
PYTHON = ["string", "integer", "float", "boolean", "array", "tuple", "dict", "any"]
JAVA = [
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "boolean",
    "char",
    "String",
    "any",
    "Array",
    "ArrayList",
    "HashMap",
]
SCRIPT = ["integer", "float", "Bigint", "Boolean", "String", "any", "array", "dict"]
KINDS: Mapping[Language, Sequence[str]] = {"python": PYTHON, "java": JAVA, "javascript": SCRIPT}
LISTS = ("array", "tuple", "Array", "ArrayList")
MAPS = ("dict", "HashMap")
JUDGED: Mapping[Language, Sequence[Category]] = {
    language: [one for one in CATEGORIES if one.language == language and not one.name.startswith("live_")]
    for language in KINDS
}


def value(draw: Draw, kind: str, inside: str = "", depth: int = 0) -> Any:
    """Return a value of a type, as an answer key has it."""
    if draw.random() < 0.07:
        return draw.choice(NAMES)
    if kind in LISTS:
        elements = inside or draw.choice(["string", "integer", "float"])
        return [value(draw, elements, "integer", depth + 1) for _ in range(draw.choice([0, 1, 2, 2, 3]))]
    if kind in MAPS:
        kinds = ["string", "integer", "float", "boolean", *(["array"] if depth < 1 else [])]
        names = draw.sample(["k", "key two", "b", "c-d"], draw.randint(0, 3))
        return {name: value(draw, draw.choice(kinds), "", depth + 1) for name in names}
    if kind in ("float", "double"):
        return draw.choice([*REALS, *NUMBERS[:4]])
    if kind in ("boolean", "Boolean"):
        return draw.random() < 0.5
    if kind in ("integer", "byte", "short", "long", "Bigint"):
        return draw.choice(NUMBERS)
    return draw.choice("abc'\"") if kind == "char" else draw.choice([*WORDS, *NAMES])


def _keyed(draw: Draw, given: Any) -> Any:
    """Return a value as it stands in a key: an object has lists of choices inside."""
    if isinstance(given, dict):
        return {name: [one, *([""] if draw.random() < 0.2 else [])] for name, one in given.items()}
    if isinstance(given, list):
        return [_keyed(draw, one) if isinstance(one, dict) else one for one in given]
    return given


def _function(draw: Draw, name: str, language: Language) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a function, the values of a right call, and its key."""
    properties: dict[str, Any] = {}
    right: dict[str, Any] = {}
    key: dict[str, Any] = {}
    for parameter in draw.sample(["x", "y", "list_of", "Name", "is-on", "k"], draw.choice([0, 1, 1, 2, 2, 3, 4])):
        kinds = KINDS[language]
        kind = draw.choice([*kinds, *(one for one in kinds if one in LISTS or one in MAPS)])
        properties[parameter] = {"type": kind}
        inside = ""
        if kind in LISTS:
            inside = draw.choice(KINDS[language])
            properties[parameter]["items"] = {"type": inside}
        right[parameter] = value(draw, kind, inside)
        others = [value(draw, kind, inside) for _ in range(draw.choice([0, 0, 1, 2]))]
        key[parameter] = [_keyed(draw, one) for one in (right[parameter], *others)]
        if draw.random() < 0.2:
            key[parameter].insert(draw.choice([0, len(key[parameter])]), "")
    required = [one for one in properties if draw.random() < 0.6]
    declared = {"type": "dict", "properties": properties, "required": required}
    return {"name": name, "description": "", "parameters": declared}, right, key


def question(draw: Draw, category: Category) -> tuple[Row, list[tuple[str, dict[str, Any]]]]:
    """Return a question, and the calls that are right."""
    several = "multiple" in category.name or category.expects != "calls"
    names = draw.sample(["get", "math.area", "a.b.c", "a_b_c", "set_value"], draw.randint(2, 3) if several else 1)
    made = [_function(draw, name, category.language) for name in names]
    count = draw.randint(1, 3) if "parallel" in category.name else 1
    chosen = [draw.choice(made) for _ in range(count)]
    calls = [(function["name"], copy.deepcopy(right)) for function, right, _ in chosen]
    keys = [{function["name"]: key} for function, _, key in chosen] if category.expects == "calls" else []
    return {"category": category.name, "functions": [function for function, _, _ in made], "keys": keys}, calls


def java(draw: Draw, given: Any, kind: str = "") -> str:
    """Return a value as Java source text."""
    match given:
        case bool():
            return str(given).lower()
        case int():
            return f"{given}{draw.choice(['L', 'l', '']) if kind == 'long' or draw.random() < 0.1 else ''}"
        case float():
            return f"{given}{draw.choice(['f', 'F', '', 'd']) if kind == 'float' or draw.random() < 0.1 else ''}"
        case str():
            return (
                given
                if (kind and kind not in ("String", "char")) or draw.random() < 0.1
                else json.dumps(given, ensure_ascii=False)
            )
        case list():
            inner = [java(draw, one) for one in given]
            return draw.choice(
                [
                    f"new ArrayList<>(Arrays.asList({', '.join(inner)}))",
                    f"new ArrayList<String>(Arrays.asList({','.join(inner)}))",
                    f"new ArrayList<List<String>>(Arrays.asList({', '.join(inner)}))",
                    f"new ArrayList<Integer>() {{{{ {' '.join(f'add({one});' for one in inner)} }}}}",
                    f"new int[]{{{', '.join(inner)}}}",
                    f"new String[] {{ {', '.join(inner)} }}",
                    f"new Object[][]{{{', '.join(inner)}}}",
                    f"Arrays.asList({', '.join(inner)})",
                    f"List.of({', '.join(inner)})",
                    f"{{{', '.join(inner)}}}",
                    "new ArrayList<>()" if not inner else f"[{', '.join(inner)}]",
                ]
            )
        case dict():
            puts = " ".join(f"put({json.dumps(name)}, {java(draw, one)});" for name, one in given.items())
            return draw.choice(
                [
                    f"new HashMap<String, Object>() {{{{ {puts} }}}}",
                    f"new HashMap<>() {{{{{puts}}}}}",
                    f"new HashMap<String, List<String>>() {{ {{ {puts} }} }}",
                    "new HashMap<>()",
                    f"Map.of({', '.join(f'{json.dumps(name)}, {java(draw, one)}' for name, one in given.items())})",
                ]
            )
    return "null"


def script(draw: Draw, given: Any, kind: str = "") -> str:
    """Return a value as JavaScript source text."""
    match given:
        case bool():
            return str(given).lower()
        case int():
            return f"{given}{'n' if kind == 'Bigint' or draw.random() < 0.05 else ''}"
        case float():
            return draw.choice([str(given), f"{given:e}", str(given).removeprefix("0")])
        case str():
            quoted = [json.dumps(given, ensure_ascii=False), f"'{given}'", f"`{given}`", given]
            return given if kind and kind != "String" else draw.choice(quoted)
        case list():
            inner = [script(draw, one) for one in given]
            form = draw.choice(
                ["[{}]", "[ {} ]", "[{},]", "new Array({})", "Array.of({})", "[...a, {}]", "[{}].map(f)"]
            )
            return form.format(draw.choice([", ", ",", " , "]).join(inner))
        case dict():
            form = draw.choice(["{{{}}}", "{{ {} }}", "{{{},}}", "{{...a, {}}}", "new Map({})", "({{{}}})"])
            pairs = [
                f"{draw.choice([name, repr(name), json.dumps(name)])}: {script(draw, one)}"
                for name, one in given.items()
            ]
            return form.format(draw.choice([", ", ","]).join(pairs))
    return draw.choice(["null", "undefined"])


SOURCE: Mapping[Language, Callable[[Draw, Any, str], str]] = {"java": java, "javascript": script}
PIECES = [
    "[", "]", "{", "}", "(", ")", '"', "'", "`", ",", ";", ":", " ", "\n", "\t", "\\", "\\n", "/* c */", "// c\n", "new ", "null",
    "undefined", "this", "0x1F", "1_000", "1e3", ".5", "5L", "2f", "3n", "-", "=>", "() => 1", "/re/g", "${x}", "...", "é", "NaN",
    "true", "False", "put(\"k\", 1);", "add(1);", "}}", "{{", "]]", "[[", "Infinity", "'c'", "٣", "\u00a0", "# c\n", "**", "x=1",
]  # fmt: skip
SIMPLE: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    0.5,
    "1",
    "true",
    "",
    "x",
    [],
    [1],
    ["a"],
    [[1]],
    {},
    {"a": 1},
    [{}],
    10**400,
    1e308,
]


def edited(draw: Draw, text: str) -> str:
    """Return a text with one change: a piece more or less, doubled, moved or in other case."""
    at = draw.randint(0, len(text))
    until = min(len(text), at + draw.choice([1, 1, 2, 5]))
    match draw.randint(0, 6):
        case 0 | 1:
            return text[:at] + draw.choice(PIECES) + text[at:]
        case 2:
            return text[:at] + text[until:]
        case 3:
            return text[:until] + text[at:until] + text[until:]
        case 4:
            return text[:at] + text[at:until].swapcase() + text[until:]
        case 5:
            return text[until:] + text[at:until] if draw.random() < 0.2 else text.strip(draw.choice("[](){}\"' "))
    return text[:at] + draw.choice(PIECES) + text[until:]


def changed(draw: Draw, given: Any) -> Any:
    """Return a value with one change: of its type, in its content or anywhere inside."""
    if draw.random() < 0.25:
        return copy.deepcopy(draw.choice(SIMPLE))
    match given:
        case bool():
            return draw.choice([not given, int(given), str(given), str(given).lower()])
        case int() | float():
            return draw.choice(
                [given + 1, -given, str(given), [given], float(given) if abs(given) < 1e300 else 0, given * 10]
            )
        case str():
            return draw.choice(
                [given.upper(), f" {given}", f'"{given}"', f"'{given}'", given.replace(" ", "-"), edited(draw, given)]
            )
        case list() if given:
            at = draw.randrange(len(given))
            others = [
                given[:at] + given[at + 1 :],
                given[::-1],
                [*given, given[at]],
                given[at],
                tuple(given),
                {"0": given},
            ]
            return draw.choice([*others, *[[*given[:at], changed(draw, given[at]), *given[at + 1 :]]] * 3])
        case dict() if given:
            name = draw.choice(list(given))
            less = {one: what for one, what in given.items() if one != name}
            return draw.choice(
                [
                    less,
                    {**less, f"{name}2": given[name]},
                    {**given, "more": 1},
                    {**given, name: changed(draw, given[name])},
                ]
            )
    return [given]


def _mutate_calls(draw: Draw, calls: list[tuple[str, Any]]) -> None:
    if not calls:
        calls.append(("get", {}))
        return
    at = draw.randrange(len(calls))
    name, arguments = calls[at]
    match draw.randint(0, 9):
        case 0:
            others = [
                name.replace(".", "_"),
                name.replace("_", "."),
                name.upper(),
                f"{name}2",
                "get",
                name.rpartition(".")[2],
                "",
            ]
            calls[at] = draw.choice(others), arguments
        case 1:
            twice = copy.deepcopy(calls[at])
            ways: list[Callable[[], object]] = [
                calls.pop,
                lambda: calls.append(twice),
                calls.reverse,
                lambda: draw.shuffle(calls),
            ]
            draw.choice(ways)()
        case 2 if arguments:
            del arguments[draw.choice(list(arguments))]
        case 3:
            arguments[draw.choice(["x", "y", "k", "extra", "Name"])] = copy.deepcopy(draw.choice(SIMPLE))
        case 4 if arguments:
            one = draw.choice(list(arguments))
            arguments[draw.choice([one.upper(), f"{one}_", "x"])] = arguments.pop(one)
        case 5 if arguments:
            for one in draw.sample(list(arguments), len(arguments)):
                arguments[one] = arguments.pop(one)
        case _ if arguments:
            one = draw.choice(list(arguments))
            arguments[one] = changed(draw, arguments[one])


def rows(seed: int, language: Language, count: int, published: Sequence[Row] = ()) -> Iterator[Row]:
    """Yield answers in a language family; with published questions half of them answer one of those.

    Only in Python are some of the answers text. Java and JavaScript write values as source text.
    """
    draw = random.Random(f"{seed} {language}")
    for _ in range(count):
        if published and draw.random() < 0.5:
            found = draw.choice(published)
            asked, calls = {**found}, [(name, _chosen(key)) for one in found["keys"] for name, key in one.items()]
        else:
            asked, calls = question(draw, draw.choice(JUDGED[language]))
        as_text = language == "python" and draw.random() < 0.5
        for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
            _mutate_calls(draw, calls)
        if language != "python":
            kinds = {
                name: one["type"]
                for function in asked["functions"]
                for name, one in function["parameters"]["properties"].items()
            }
            calls = [
                (name, {one: _source(draw, what, kinds.get(one, ""), language) for one, what in given.items()})
                for name, given in calls
            ]
        if as_text:
            text = _text(draw, calls)
            yield {**(_agreeing_with_text(asked, text) if draw.random() < 0.5 else asked), "text": text}
            continue
        if language != "python" and draw.random() < 0.5:
            asked = _agreeing(asked, calls, language)
        if not calls:
            continue
        wired = [(name.replace(".", "_") if draw.random() < 0.97 else name, json.dumps(given)) for name, given in calls]
        if draw.random() < 0.02:
            wired[0] = wired[0][0], edited(draw, wired[0][1])
        yield {**asked, "calls": wired}


def _agreeing(asked: Row, calls: Sequence[tuple[str, Any]], language: Language) -> Row:
    """Return a question whose key accepts what is read from the calls, so that the verdict tells how they are read."""
    asked = copy.deepcopy(asked)
    read = official_literals.java if language == "java" else official_literals.script
    for (name, given), key in zip(calls, asked["keys"], strict=False):
        function = next((one for one in asked["functions"] if one["name"] == name), None)
        if function is None or name not in key:
            continue
        for parameter, text in given.items():
            kind = function["parameters"]["properties"].get(parameter)
            if kind is not None and isinstance(text, str):
                with contextlib.suppress(LookupError, ValueError):
                    key[name][parameter] = [_held(read(text, kind["type"], kind.get("items", {}).get("type")))]
    return asked


def _agreeing_with_text(asked: Row, text: str) -> Row:
    """Return a question whose key accepts what is read from the text, as far as JSON can hold it."""
    asked = copy.deepcopy(asked)
    with contextlib.suppress(NoCalls):
        for (name, given), key in zip(decoded(text), asked["keys"], strict=False):
            for parameter, what in given.items() if name in key else ():
                with contextlib.suppress(TypeError, ValueError):
                    key[name][parameter] = json.loads(json.dumps([_held(what)], allow_nan=False))
    return asked


def _held(given: Any) -> Any:
    return {name: [one] for name, one in given.items()} if isinstance(given, dict) else given


def _chosen(key: Mapping[str, Any]) -> dict[str, Any]:
    first = {name: next((one for one in accepted if one != ""), "") for name, accepted in key.items()}
    return {name: {one: what[0] if isinstance(what, list) and what else what for one, what in given.items()} if isinstance(given, dict) else given
            for name, given in first.items()}  # fmt: skip


def _source(draw: Draw, given: Any, kind: str, language: Language) -> Any:
    """Return a value as source text, at times with changes, and now and then the value itself."""
    if draw.random() < 0.03:
        return given
    text = SOURCE[language](draw, given, kind)
    for _ in range(draw.choice([0, 0, 1, 2])):
        text = edited(draw, text)
    return text


def _text(draw: Draw, calls: Sequence[tuple[str, Any]]) -> str:
    """Return calls in the syntax of Python, at times wrapped or with changes."""
    spelled = [
        f"{name}({', '.join(f'{one}={_python(draw, what)}' for one, what in given.items())})" for name, given in calls
    ]
    joined = draw.choice([", ", ",", ",\n", "; ", "\n"] if draw.random() < 0.1 else [", "]).join(spelled)
    forms = [
        "[{}]",
        "{}",
        "```[{}]```",
        "`{}`",
        "```python\n[{}]\n```",
        "'[{}]'",
        "[{}",
        "{}]",
        " [{}]\n",
        "Calls: [{}]",
        "({})",
        "[[{}]]",
        "[{},]",
    ]
    text = (draw.choice(forms) if draw.random() < 0.5 else "[{}]").replace("{}", joined)
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        text = edited(draw, text)
    return text


def _python(draw: Draw, given: Any) -> str:
    odd = ["1 + 2", "2 ** 3", "-x", "not True", "+5", "~5", "f(1)", "f(a=1)", "a[0]", "a.b", "{1, 2}", "lambda: 1", "...", "'a' 'b'", "b'x'", "f'{x}'"]  # fmt: skip
    odd += ["'a' * 3", "[1] * 2", "1 / 0", "7 // 2", "1 if a else 2", "a and b", "1 < 2", "-1.5", "--1", "(1,)", "1j", "*a", "10 % 3", "1_000", "0x1F", "[*a]", "{**a}"]  # fmt: skip
    return draw.choice(odd) if draw.random() < 0.15 else repr(given)


def official_verdict(row: Row) -> bool | None:
    """Return the verdict of `score_official` on an answer."""
    (category,) = (one for one in CATEGORIES if one.name == row["category"])
    answer = Answer(row.get("text", ""), tuple(CalledTool(*call) for call in row.get("calls", ())))
    return is_right(category, row["functions"], row["keys"], answer)


def digest_of(answers: Sequence[Row]) -> str:
    """Return a digest of answers; JSON text keeps it the same for the same answers."""
    return digest(json.dumps(answers))
