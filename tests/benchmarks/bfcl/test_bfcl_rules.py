"""bfcl: which calls are right, rule by rule, and what an answer has to look like to make calls at all."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mesocosm.agents.call_syntax import spelled_calls
from mesocosm.agents.call_text import TextCall
from mesocosm.benchmarks.builtin.bfcl.calls import calls_of
from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.benchmarks.builtin.bfcl.checker import fault
from mesocosm.benchmarks.builtin.bfcl.gold import spelled
from mesocosm.benchmarks.builtin.bfcl.literals import LANGUAGES
from mesocosm.benchmarks.builtin.bfcl.tools import own_names, tool
from mesocosm.core.turn import Answer, CalledTool

Keys = Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]


def function(name: str = "f", required: Sequence[str] = (), **kinds: Any) -> dict[str, Any]:
    properties = {one: kind if isinstance(kind, dict) else {"type": kind} for one, kind in kinds.items()}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": list(required)}}


def array(inside: str, kind: str = "array") -> dict[str, Any]:
    return {"type": kind, "items": {"type": inside}}


def judged(kind: Any, accepted: Sequence[Any], value: Any, language: Language = "python") -> str:
    """Return what is wrong with one parameter of that type."""
    return fault([function(x=kind)], [TextCall("f", {"x": value})], [{"f": {"x": accepted}}], language)


@pytest.mark.parametrize(
    ("kind", "accepted", "value"),
    [
        ("integer", [5], 5),
        ("float", [5.0], 5),
        ("float", [5], 5.0),
        ("float", [0.5], 0.5),
        ("boolean", [True], True),
        ("string", ["New York, NY"], "new-york ny"),
        ("string", ["it's"], 'IT"S'),
        ("string", ["a.b/c_d*e^2"], "abcde2"),
        ("string", ["x", "y"], "y"),
        ("string", ["", "km"], "KM"),
        ("any", ["text"], "Text"),
        ("any", [3], 3),
        ("tuple", [[1, 2]], [1, 2]),
        ("tuple", [[1, 2]], (1, 2)),
        (array("string"), [["Red", "Blue"]], ["red", "b-lue"]),
        (array("integer"), [[1, 2], [2, 1]], [2, 1]),
        (array("float"), [[1, 2]], [1, 2]),
        (array("integer"), [[]], []),
        (array("array"), [[[1, 2], [3]]], [[1, 2], [3]]),
        ("dict", [{"a": [1, 2], "b": ["X", ""]}], {"a": 2}),
        ("dict", [{"a": [1]}, {"b": [2]}], {"b": 2}),
        ("dict", [{"a": ["It is"]}], {"a": "it-is"}),
        (array("dict"), [[{"a": [1]}, {"a": [2]}]], [{"a": 1}, {"a": 2}]),
        ("integer", ["n"], "n"),
        (array("string"), ["names"], "names"),
    ],
)
def test_values_that_are_accepted(kind: Any, accepted: Sequence[Any], value: Any) -> None:
    assert judged(kind, accepted, value) == ""


@pytest.mark.parametrize(
    ("kind", "accepted", "value"),
    [
        ("integer", [5], 6),
        ("integer", [5], "5"),
        ("integer", [5], 5.0),
        ("integer", [1], True),
        ("boolean", [True], 1),
        ("boolean", [True], "true"),
        ("string", ["5"], 5),
        ("string", ["a"], "ab"),
        ("string", ["a"], "a!"),
        ("float", [5.0], "5.0"),
        ("float", [5.0], None),
        ("float", [5.0], 10**400),
        ("tuple", [[1, 2]], [2, 1]),
        (array("string"), [["a", "b"]], ["b", "a"]),
        (array("string"), [["a"]], "a"),
        (array("string"), [["a"]], ("a",)),
        (array("string"), [["a", "b"]], ["a"]),
        (array("integer"), [[1, 2]], ["1", "2"]),
        (array("integer"), [[1, 1]], [True, True]),
        ("dict", [{"a": [1]}], {"a": 1, "b": 2}),
        ("dict", [{"a": [1], "b": [2]}], {"a": 1}),
        ("dict", [{"a": [1]}], {"a": 2}),
        ("dict", [{"a": [1]}], "a"),
        ("dict", [{"a": [1]}], [1]),
        (array("dict"), [[{"a": [1]}, {"a": [2]}]], [{"a": 2}, {"a": 1}]),
        (array("dict"), [[{"a": [1]}]], [{"a": 1}, {"a": 1}]),
        (array("dict"), [[{"a": [1]}]], [1]),
        ("integer", ["n"], 5),
        ("string", ["a"], "a" * 100_000),
    ],
)
def test_values_that_are_not_accepted(kind: Any, accepted: Sequence[Any], value: Any) -> None:
    assert judged(kind, accepted, value).startswith("parameter x of f is")


FUNCTIONS = [function("near", ["x"], x="integer", y="integer"), function("far.away", x="string")]
KEY: Mapping[str, Mapping[str, Sequence[Any]]] = {"near": {"x": [1], "y": [2, ""]}}


def checked(*calls: tuple[str, Any], keys: Keys = (KEY,)) -> str:
    return fault(FUNCTIONS, [TextCall(*call) for call in calls], keys, "python")


@pytest.mark.parametrize("arguments", [{"x": 1}, {"x": 1, "y": 2}])
def test_optional_parameters_may_be_given_or_not(arguments: dict[str, Any]) -> None:
    assert checked(("near", arguments)) == ""


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "no calls where 1 is right"),
        ([("near", {"x": 1}), ("near", {"x": 1})], "2 calls where 1"),
        ([("near", {"x": 1}), ("far.away", {"x": "a"})], "2 calls where 1"),
        ([("far.away", {}), ("far.away", {})], "2 calls where 1 is right, without near"),
        ([("far.away", {"x": 1})], "calls far.away"),
        ([("Near", {"x": 1})], "calls Near"),
        ([("near", {"y": 2})], "required parameter x"),
        ([("near", {"x": 1, "z": 0})], "parameter z that is not expected"),
        ([("near", {"x": 1, "y": 3})], "not accepted; right is"),
        ([("near", "x=1")], "are not an object"),
        ([("near", [1])], "are not an object"),
        ([("near", None)], "are not an object"),
        ([("", None)], "calls , not near"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(calls: list[tuple[str, Any]], reason: str) -> None:
    assert reason in checked(*calls)


def test_a_parameter_that_the_key_wants_may_not_be_left_out_though_the_function_lets_it() -> None:
    assert "lacks parameter y" in checked(("near", {"x": 1}), keys=[{"near": {"x": [1], "y": [2]}}])


def test_several_calls_are_right_in_any_order_but_each_only_once() -> None:
    keys: Keys = [{"near": {"x": [1]}}, {"near": {"x": [2]}}, {"far.away": {"x": ["a"]}}]
    one, two, three = ("near", {"x": 1}), ("near", {"x": 2}), ("far.away", {"x": "A"})
    assert checked(three, two, one, keys=keys) == ""
    assert checked(one, one, three, keys=keys) != ""
    assert checked(one, two, keys=keys) == "2 calls where 3 are right, without far.away"
    assert checked(one, two, three, three, keys=keys) == "4 calls where 3 are right"


KNOWN = [function("near"), function("far.away")]
CALLS = [TextCall("near", {"x": 1}), TextCall("far.away", {"x": "a"})]


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "near", "arguments": {"x": 1}}, {"name": "far.away", "arguments": {"x": "a"}}]',
        '[{"tool": "near", "args": {"x": 1}}, {"function": {"name": "far.away", "arguments": "{\\"x\\": \\"a\\"}"}}]',
        '[{"near": {"x": 1}}, {"far.away": {"x": "a"}}]',
        '[{"near": "{\\"x\\": 1}"}, {"far.away": "{\\"x\\":\\n \\"a\\"}"}]',
        "[near(x=1), far.away(x='a')]",
        'near(x=1), far.away(x="a")',
        '```python\n[near(x=1), far.away(x="a")]\n```',
        '```[near(x=1), far.away(x="a")]```',
    ],
)
def test_calls_are_read_in_every_usual_form(text: str) -> None:
    assert calls_of(Answer(text), KNOWN) == CALLS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot do that.",
        "You can use near(x=1) for this.",
        "Result: [near(x=1)]",
        '{"error": "no function fits"}',
        '{"answer": {"x": 1}}',
        '["near"]',
        "[]",
        "null",
        "near",
        "near.x",
        "near(x=1) if True else far.away()",
        "[" * 5000,
        "near(" * 5000,
        "[near(x=" + "1+" * 30_000 + "1)]",
        "\0near()",
        '[{"near": ',
    ],
)
def test_other_texts_make_no_call(text: str) -> None:
    assert calls_of(Answer(text), KNOWN) == []


def test_a_right_call_among_others_does_not_hide_them() -> None:
    assert calls_of(Answer('[{"near": {"x": 1}}, {"nowhere": {}}, 3]'), KNOWN) == [
        TextCall("near", {"x": 1}),
        TextCall("nowhere", {}),
        TextCall("", None),
    ]


def test_calls_of_the_api_go_before_text() -> None:
    answer = Answer("near(x=1)", (CalledTool("far.away", '{"x": "a"}'), CalledTool("near", "{x")))
    assert calls_of(answer, KNOWN) == [TextCall("far.away", {"x": "a"}), TextCall("near", "{x")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-5", -5),
        ("[1, (2, 3)]", [1, (2, 3)]),
        ("{'a': [True, None]}", {"a": [True, None]}),
        ("2 * 3 + 0.5", 6.5),
        ("name", "name"),
        ("g(1)", "g(1)"),
        ("__import__('os').getcwd()", "__import__('os').getcwd()"),
        ("9**9**9", "9 ** 9 ** 9"),
    ],
)
def test_arguments_in_python_syntax_are_read_and_never_executed(text: str, value: Any) -> None:
    assert spelled_calls(f"f(x={text})") == [("f", {"x": value})]


def test_an_argument_without_a_name_belongs_to_no_parameter() -> None:
    assert spelled_calls("f(1, y=2)") == [("f", {"0": 1, "y": 2})]


@pytest.mark.parametrize(
    "text", ["f(x=1/0)", "f(x='a' * 10**9)", "f(x={[]: 1})", "f(x={**y})", "f(**{'x': 1})", "f(x=" + "-" * 900 + "1)",
     f"f(x=0x{'f' * 9000})", f"f(x=[0x{'f' * 9000}])", f"f(x={{0x{'f' * 9000}: 1}})"],
)  # fmt: skip
def test_arguments_that_cannot_be_read_make_a_call_without_any(text: str) -> None:
    assert spelled_calls(text) == [("f", None)]


def test_tools_have_names_and_schemas_that_every_api_takes() -> None:
    declared = function("geo.find", ["a"], a="float", b=array("float", "tuple"), c="any", d="dict")
    declared["parameters"]["properties"]["d"]["properties"] = {"type": {"type": "bool", "optional": True}}
    made = tool(declared, "python")
    assert made.name == "geo_find"
    assert made.parameters == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "array", "items": {"type": "number"}},
            "c": {},
            "d": {"type": "object", "properties": {"type": {"type": "boolean"}}},
        },
    }


def test_calls_may_use_the_name_on_the_wire_or_the_function_s_own() -> None:
    functions = [function("a.b"), function("c")]
    assert own_names(functions) == {"a_b": "a.b", "a.b": "a.b", "c": "c"}


def test_tools_of_other_languages_take_texts() -> None:
    made = tool(function("f", ["x"], x=array("integer", "ArrayList")), "java")
    assert made.parameters["properties"] == {"x": {"type": "string", "description": "(type ArrayList of integer)"}}
    assert "Java 8" in made.description


@pytest.mark.parametrize(
    ("language", "kind", "accepted", "value"),
    [
        ("java", "integer", [5], "5"),
        ("java", "long", [5], "5L"),
        ("java", "float", [1.5], "1.5f"),
        ("java", "double", [1.5], "1.5"),
        ("java", "boolean", [True], "true"),
        ("java", "String", ["A b"], "a-B"),
        ("java", "integer", ["size"], "size"),
        ("java", array("integer", "ArrayList"), [[1, 2]], "new ArrayList<>(Arrays.asList(1, 2))"),
        ("java", array("String", "ArrayList"), [["a", "b"]], 'new ArrayList<String>() {{ add("a"); add("b"); }}'),
        ("java", array("String", "Array"), [["a", "b"]], 'new String[]{"a", "b"}'),
        ("java", "HashMap", [{"k": ["v"], "n": [1]}], 'new HashMap<>() {{ put("k", "v"); put("n", 1); }}'),
        ("java", "HashMap", [{"k": ["v"]}], 'new HashMap<String, String>() { { put("k", "v"); } }'),
        ("java", "HashMap", [{}], "new HashMap<String, Object>() {{ }}"),
        ("java", "HashMap", [{"k": "v"}], 'new HashMap<>() {{ put("k", "v"); }}'),
        ("java", array("any", "ArrayList"), [["a", 1, True]], 'new ArrayList<>(Arrays.asList("a", 1, true))'),
        ("java", array("integer", "Array"), [[1, 2]], "new int[] {1, 2}"),
        ("java", array("integer", "ArrayList"), [[1, 2]], "List.of(1, 2)"),
        ("java", array("any", "ArrayList"), ['List.of("a", 1)'], 'List.of("a", 1)'),
        ("java", "String", ["a"], '"a"'),
        ("javascript", "String", ["a"], "'a'"),
        ("javascript", "String", ["a"], '"a"'),
        ("javascript", array("integer"), [[1, 2]], "new Array(1, 2)"),
        ("javascript", "integer", [5], "5"),
        ("javascript", "Bigint", [5], "5n"),
        ("javascript", "float", [0.5], "0.5"),
        ("javascript", "Boolean", [False], "false"),
        ("javascript", array("String"), [["a", "b"]], "['a', \"b\"]"),
        ("javascript", "dict", [{"k": ["v"], "n": [[1, 2]]}], "{k: 'v', \"n\": [1, 2]}"),
    ],
)
def test_texts_that_spell_values_of_other_languages(
    language: Language, kind: Any, accepted: Sequence[Any], value: str
) -> None:
    assert judged(kind, accepted, value, language) == ""


@pytest.mark.parametrize(
    ("language", "kind", "accepted", "value"),
    [
        ("java", "integer", [5], 5),
        ("java", "long", [5], "5"),
        ("java", "float", [1.5], "1.5"),
        ("java", "boolean", [True], "True"),
        ("java", "HashMap", [{"k": ["v"]}], "{'k': 'v'}"),
        ("java", "HashMap", [{}], "new Thread()"),
        ("java", array("integer", "ArrayList"), [[1, 2]], "reversed(1, 2)"),
        ("java", array("integer", "ArrayList"), [[1, 2]], "new Reversed<>(Arrays.asList(1, 2))"),
        ("java", array("integer", "ArrayList"), [[1, 2]], "new ArrayList<>(Arrays.asList(1, 2)).subList(0, 1)"),
        ("java", array("long", "ArrayList"), [[1, 2]], "new ArrayList<>(Arrays.asList(1, 2))"),
        ("java", "String", ["a"], '"b"'),
        ("javascript", array("integer"), [[1, 2]], "[1, 2].reverse()"),
        ("javascript", array("integer"), [[1, 2]], "new Set(1, 2)"),
        ("javascript", "String", ["a"], "'a' + 'b'"),
        ("javascript", "Bigint", [5], "5"),
        ("javascript", "dict", [{"k": ["v"]}], {"k": "v"}),
        ("javascript", array("String"), [["a", "b"]], "a, b"),
    ],
)
def test_texts_that_do_not_spell_them(language: Language, kind: Any, accepted: Sequence[Any], value: Any) -> None:
    assert judged(kind, accepted, value, language) != ""


@pytest.mark.parametrize("language", ["java", "javascript"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "{" * 20_000,
        '"' * 20_001,
        "new A(" * 5_000,
        "{{" * 5_000,
        ", " * 50_000,
        "new A" + " " * 100_000 + "b",
    ],
)
def test_nonsense_in_other_languages_is_read_in_no_time(language: Language, text: str) -> None:
    for kind in LANGUAGES[language].types:
        LANGUAGES[language].read(text, kind, "")


@pytest.mark.parametrize(
    ("language", "kind", "value"),
    [
        ("java", "long", 5),
        ("java", "float", 1.5),
        ("java", "boolean", True),
        ("java", "ArrayList", ["a", "b"]),
        ("java", "HashMap", {"k": 1}),
        ("javascript", "Bigint", 5),
        ("javascript", "array", [1, 2]),
        ("javascript", "dict", {"k": [1, 2]}),
    ],
)
def test_what_the_oracle_spells_is_read_as_the_same_value(language: Language, kind: str, value: Any) -> None:
    assert LANGUAGES[language].read(spelled(value, kind, "", language), kind, "") == value
