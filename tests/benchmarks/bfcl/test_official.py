"""bfcl: `score_official` is the leaderboard's verdict; `format_only` says where only the form differs."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.bfcl.mutated import digest_of, official_verdict, rows

from mesocosm.benchmarks.builtin.bfcl.benchmark import FunctionCalling
from mesocosm.benchmarks.builtin.bfcl.categories import Language
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.turn import Answer, CalledTool

RECORDED = Path(__file__).with_name("verdicts.json")
"""The leaderboard's verdicts on the answers of `rows(SEED, language, RECORDED_ROWS)`; perf/bfcl writes them."""
RECORDED_ROWS, SEED = 5000, 7


@pytest.mark.parametrize("language", ["python", "java", "javascript"])
def test_verdicts_are_those_that_the_leaderboard_s_checker_gave(language: Language) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[language]
    answers = list(rows(SEED, language, RECORDED_ROWS))
    assert digest_of(answers) == recorded["answers"], "other answers than those judged: make test-bfcl WRITE=1"
    letters = {True: "1", False: "0"}
    differing = [
        row
        for row, verdict in zip(answers, recorded["verdicts"], strict=True)
        if verdict not in ("?", letters[bool(official_verdict(row))])
    ]
    assert differing == []


def of_type(text: str) -> dict[str, Any]:
    """Return the declaration of a type such as `integer` or `array of integer`."""
    kind, _, inside = text.partition(" of ")
    return {"type": kind, "items": {"type": inside}} if inside else {"type": kind}


def judged(language: Language, kind: str, accepted: list[Any], given: Any) -> bool | None:
    function = {"name": "f", "parameters": {"properties": {"x": of_type(kind)}, "required": []}}
    calls = [["f", json.dumps({"x": given})]]
    return official_verdict(
        {"category": f"simple_{language}", "functions": [function], "keys": [{"f": {"x": accepted}}], "calls": calls}
    )


RULES: list[tuple[Language, str, list[Any], Any, bool]] = [
    ("python", "float", [1.0], 1, True),
    ("python", "float", [1.0], True, False),
    ("python", "array of float", [[1.5, 2.0]], [1.5, 2], False),
    ("python", "array of float", [[1, 2]], [1, 2], True),
    ("python", "dict", [{"a": [1]}], {"a": True}, True),
    ("python", "dict", [{"a": "xy"}], {"a": "x"}, True),
    ("python", "dict", [{"a": "xy"}], {"a": "xy"}, False),
    ("python", "dict", ["", {}], {}, True),
    ("python", "array of dict", ["", [{"a": [1]}]], [{"a": 1}], True),
    ("python", "array of string", ["", ["a"]], [], True),
    ("python", "string", ["", "a"], "", True),
    ("python", "string", ["don't"], 'DON"T', True),
    ("python", "integer", ["n"], "n", True),
    ("python", "integer", ["n"], "N", False),
    ("python", "array", [[1]], [1], False),
    ("python", "number", [1], 1, False),
    ("java", "integer", [5], "5\n", True),
    ("java", "integer", [5], " 5", False),
    ("java", "long", [5], "5", False),
    ("java", "long", [5], "5l", True),
    ("java", "float", [1.5], "1.5", False),
    ("java", "double", [1.5], "1.5e0", True),
    ("java", "double", [0.5], ".5", False),
    ("java", "String", ["a"], '"a"', False),
    ("java", "char", ["a"], "'a'", False),
    ("java", "Array of String", [["a"]], 'new String[]{"a"}', False),
    ("java", "Array of String", [["a"]], "new String[]{a}", True),
    ("java", "Array of integer", [[1, 2]], "new int[]{1, , 2}", True),
    ("java", "Array of integer", [[1]], "x = new int[]{1}.clone()", True),
    ("java", "ArrayList of String", [["a, b"]], 'new ArrayList<>(Arrays.asList("a, b"))', False),
    ("java", "ArrayList of String", [["b"]], "new ArrayList<>(Arrays.asList(abc))", True),
    ("java", "ArrayList of String", [["a"]], 'new ArrayList<List<String>>(Arrays.asList("a"))', False),
    ("java", "ArrayList of String", [["a"]], 'Arrays.asList("a")', False),
    ("java", "ArrayList of long", [[1]], "new ArrayList<>(Arrays.asList(1))", False),
    ("java", "ArrayList of any", [["a", 1]], 'new ArrayList<>(Arrays.asList("a", 1))', False),
    ("java", "HashMap", [{"a": ["(b"]}], 'new HashMap<>() {{ put("a", "(b)"); }}', False),
    ("java", "HashMap", [{"a": [1000]}], 'new HashMap<>() {{ put("a", 1_000); }}', True),
    ("java", "HashMap", [{}], "new HashMap<>()", True),
    ("java", "HashMap", [{}], "new HashMap<>(other)", False),
    ("java", "HashMap", [{"a": [1]}], 'Map.of("a", 1)', False),
    ("java", "Queue of integer", [[1]], "new LinkedList<>()", False),
    ("java", "integer", [5], 5, False),
    ("javascript", "String", ["a"], "'a'", True),
    ("javascript", "String", ["a"], "`a`", False),
    ("javascript", "integer", [5], "5n", False),
    ("javascript", "Bigint", [5], "5n\n", False),
    ("javascript", "float", [1000.0], "1e3", False),
    ("javascript", "float", [0.5], ".5", False),
    ("javascript", "array of integer", [[1, 2]], "[1, 2].map(f)", True),
    ("javascript", "array of integer", [[1, 2]], "[1, 2,]", False),
    ("javascript", "array of String", [["a, b"]], "['a, b']", False),
    ("javascript", "array of array", [[[1, 2], [3]]], "[[1, 2], [3]]", True),
    ("javascript", "array of integer", [[1]], "[\n1]", False),
    ("javascript", "dict", [{"a": [1]}], "{a: 1, }", False),
    ("javascript", "dict", [{"a": [1]}], "{'a': 1, b}", False),
    ("javascript", "dict", [{"a": [{"b": [1]}]}], "{a: {b: 1}}", False),
    ("javascript", "dict", [{"a": ["x"]}], "{a: x} + 1", True),
    ("javascript", "dict", [{"a": [1.0]}], "{a: '1.0'}", True),
]


def test_quirks_of_the_leaderboard_are_kept() -> None:
    assert [rule for rule in RULES if judged(*rule[:4]) is not rule[4]] == []


def opened(tmp_path: Path, category: str, functions: list[Any], key: list[Any] | None) -> FunctionCalling:
    """Return the benchmark with one question."""
    name = f"BFCL_v4_{category}.json"
    row = {"id": "q", "question": [[{"role": "user", "content": "Please."}]], "function": functions}
    (tmp_path / name).write_text(json.dumps(row))
    if key is not None:
        (tmp_path / "possible_answer").mkdir()
        (tmp_path / "possible_answer" / name).write_text(json.dumps({"id": "q", "ground_truth": key}))
    known = read_catalogue().find("bfcl")
    (settings,) = settle([known.descriptor], {"data_path": str(tmp_path)}, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, FunctionCalling)
    return benchmark


async def scores(benchmark: FunctionCalling, answer: Any) -> tuple[float | None, float | None, float | None]:
    """Return score, official score and `format_only` of an answer to the only question."""
    (task,) = benchmark.loaded.tasks
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"answer": answer})
    found = {score.name: score for score in await benchmark.grade(task, episode)}
    return found["score"].value, found["score_official"].value, found["format_only"].value


MAIL = {
    "name": "mail.send",
    "parameters": {"properties": {"to": {"type": "string"}, "copies": {"type": "integer"}}, "required": ["to"]},
}
MAIL_KEY = [{"mail.send": {"to": ["Ada"], "copies": [2, ""]}}]
SENT = {"to": "Ada", "copies": 2}
HERMES = f"<tool_call>{json.dumps({'name': 'mail_send', 'arguments': SENT})}</tool_call>"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer("", (CalledTool("mail_send", SENT),)), (1, 1, 0)),
        (Answer("", (CalledTool("mail.send", SENT),)), (1, 0, 1)),
        (Answer("", (CalledTool("mail_send", {"to": "Bob"}),)), (0, 0, 0)),
        ("[mail.send(to='Ada', copies=2)]", (1, 1, 0)),
        ("mail.send(to='Ada')", (1, 1, 0)),
        ("[mail_send(to='Ada')]", (1, 0, 1)),
        ("```python\n[mail.send(to='Ada')]\n```", (1, 0, 1)),
        (HERMES, (1, 0, 1)),
        (Answer(HERMES, (CalledTool("mail_send", SENT, "text_0"),)), (1, 0, 1)),
        (HERMES.replace("Ada", "Bob"), (0, 0, 0)),
        ("[mail.send('Bob', to='Ada')]", (0, 1, 0)),
        ("", (0, 0, 0)),
    ],
)
async def test_only_the_form_of_right_calls_is_named_as_such(
    tmp_path: Path, answer: Any, expected: tuple[int, int, int]
) -> None:
    given = answer.data() if isinstance(answer, Answer) else answer
    assert await scores(opened(tmp_path, "simple_python", [MAIL], MAIL_KEY), given) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("I cannot do that.", (1, 1, 0)),
        ("[mail.send(to='Ada')]", (0, 0, 0)),
        ("[fax.send(to='Ada')]", (0, 0, 0)),
        (Answer("", (CalledTool("fax_send", SENT),)), (0, 0, 0)),
        (Answer("", (CalledTool("mail_send", '{"to": '),)), (0, 1, 0)),
        (HERMES, (0, 1, 0)),
        (HERMES.replace("mail_send", "fax_send"), (0, 1, 0)),
        ('[TOOL_CALLS]fax[ARGS]{"to": "Ada"}', (0, 1, 0)),
        ("```tool_code\nfax(to='Ada')\n```", (0, 1, 0)),
        ("[fax(to=Colour.RED)]", (0, 1, 0)),
        ('I send a fax.\n```json\n{"name": "fax", "arguments": {"to": "Ada"}}\n```', (0, 1, 0)),
        ("fax(to='Ada')]", (0, 0, 0)),
        (f"<think>{HERMES}</think>No function fits.", (1, 1, 0)),
        (f"`{HERMES}` would be wrong here.", (1, 1, 0)),
    ],
)
async def test_a_call_of_any_function_in_any_form_earns_nothing_where_none_fits(
    tmp_path: Path, answer: Any, expected: tuple[int, int, int]
) -> None:
    given = answer.data() if isinstance(answer, Answer) else answer
    assert await scores(opened(tmp_path, "irrelevance", [MAIL], None), given) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("[mail.send()]", (1, 1, 0)), ("[fax()]", (0, 1, 0)), (HERMES, (1, 0, 1)), ("No.", (0, 0, 0))],
)
async def test_a_call_of_a_function_that_is_not_offered_earns_nothing_where_one_fits(
    tmp_path: Path, answer: str, expected: tuple[int, int, int]
) -> None:
    assert await scores(opened(tmp_path, "live_relevance", [MAIL], None), answer) == expected


SORT = {
    "name": "Sorter.sort",
    "parameters": {
        "properties": {
            "names": {"type": "Array", "items": {"type": "String"}},
            "most": {"type": "long"},
            "by": {"type": "any"},
        },
        "required": ["names"],
    },
}
SORT_KEY = [{"Sorter.sort": {"names": [["a", "b, c"]], "most": [5, ""], "by": ["order", ""]}}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"names": 'new String[]{"a", "b, c"}', "most": "5L"}, (1, 0, 1)),
        ({"names": 'List.of("a", "b, c")', "by": '"order"'}, (1, 0, 1)),
        ({"names": 'new String[]{"a", "b"}'}, (0, 0, 0)),
        ({"names": 'new String[]{"a", "b, c"}', "most": "6L"}, (0, 0, 0)),
        ({"names": 'new String[]{"a", "b, c"}.reversed()'}, (0, 0, 0)),
        ({"names": 'sorted(new String[]{"a", "b, c"})'}, (0, 0, 0)),
        ({"names": ["a", "b, c"]}, (0, 0, 0)),
    ],
)
async def test_values_in_java_that_the_leaderboard_cannot_read_are_right_here(
    tmp_path: Path, arguments: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    answer = Answer("", (CalledTool("Sorter_sort", arguments),)).data()
    assert await scores(opened(tmp_path, "simple_java", [SORT], SORT_KEY), answer) == expected


async def test_text_in_java_is_judged_here_and_has_no_verdict_of_the_leaderboard(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, "simple_java", [SORT], SORT_KEY)
    text = '[Sorter.sort(names=new String[]{"a", "b, c"}, most=5L, by=order)]'
    assert await scores(benchmark, text) == (1, None, None)
    assert await scores(benchmark, text.replace("5L", "6L")) == (0, None, None)
    assert await scores(benchmark, "I cannot do that.") == (0, 0, 0)
