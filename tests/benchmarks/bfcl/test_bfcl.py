"""The benchmark bfcl: its data, categories and scores, on a few questions of our own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.bfcl.benchmark import FunctionCalling
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.core.task import Task
from mesocosm.core.turn import Answer, CalledTool
from mesocosm.engine import session
from mesocosm.store import open_store
from mesocosm.testing.dialect import ScriptedAnswer as Answered
from mesocosm.testing.fault import Fault, FaultKind
from mesocosm.testing.model_server import ModelServer

COUNT = 6
MAIL = {
    "name": "mail.send",
    "description": "Send a letter.",
    "parameters": {
        "type": "dict",
        "properties": {"to": {"type": "string"}, "copies": {"type": "integer"}, "urgent": {"type": "boolean"}},
        "required": ["to", "copies"],
    },
}
BELL = {"name": "ring", "parameters": {"type": "dict", "properties": {}, "required": []}}


def letter(number: int) -> dict[str, Any]:
    return {"mail.send": {"to": [f"Person {number}"], "copies": [number, ""], "urgent": [True, ""]}}


def write(folder: Path, category: str, functions: list[Any], keys: list[list[Any]] | None, version: int = 4) -> None:
    """Write the files of a category, with one question for each key."""
    name = f"BFCL_v{version}_{category}.json"
    (folder / "possible_answer").mkdir(exist_ok=True)
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Please, number "}]
    rows = [
        {
            "id": f"{category}_{n}",
            "question": [[said[0], {**said[1], "content": f"Please, number {n}"}]],
            "function": functions,
        }
        for n in range(COUNT)
    ]
    (folder / name).write_text("\n".join(map(json.dumps, rows)))
    if keys is not None:
        answers = [{"id": row["id"], "ground_truth": key} for row, key in zip(rows, keys, strict=True)]
        (folder / "possible_answer" / name).write_text("\n".join(map(json.dumps, answers)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder, "simple_python", [MAIL], [[letter(n)] for n in range(COUNT)])
    write(folder, "parallel_multiple", [BELL, MAIL], [[letter(n), {"ring": {}}, letter(9)] for n in range(COUNT)])
    write(folder, "irrelevance", [MAIL], None)
    write(folder, "live_relevance", [BELL], None)
    return folder


def opened(data: Path, **parameters: Any) -> FunctionCalling:
    known = read_catalogue().find("bfcl")
    (settings,) = settle([known.descriptor], {"local_data": str(data), **parameters}, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, FunctionCalling)
    return benchmark


async def played(data: Path, model: str, count: int | None = None, **parameters: Any) -> Run:
    known = read_catalogue().find("bfcl")
    (settings,) = settle([known.descriptor], {"data_path": str(data), **parameters}, [known.descriptor])
    store = open_store(data.parent / "results.sqlite")
    spec = RunSpec(
        reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection(count=count)
    )
    run = await session.run(spec, store)
    store.close()
    return run


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


async def score(benchmark: FunctionCalling, task: Task, answer: Any) -> float:
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"answer": answer})
    (found,) = [score for score in await benchmark.grade(task, episode) if score.name == "score"]
    assert found.value is not None
    return found.value


def test_all_categories_that_the_folder_has_are_asked(data: Path) -> None:
    benchmark = opened(data)
    assert [category.name for category in benchmark.categories] == [
        "simple_python",
        "parallel_multiple",
        "irrelevance",
        "live_relevance",
    ]
    assert len(benchmark.loaded.tasks) == 4 * COUNT


def test_files_of_the_older_version_are_read_under_their_old_names(tmp_path: Path) -> None:
    write(tmp_path, "simple", [MAIL], [[letter(n)] for n in range(COUNT)], version=3)
    for name in ("simple", "simple_python"):
        assert opened(tmp_path, categories=name).loaded.tasks[0].id == "simple_0"


def test_what_the_agent_sees_holds_the_question_and_the_tools_and_no_answer(data: Path) -> None:
    task = opened(data, categories=["simple_python"]).loaded.tasks[3]
    assert task.input["system"] == "Be brief."
    assert [message["content"] for message in task.input["messages"]] == ["Please, number 3"]
    assert [tool["name"] for tool in task.input["tools"]] == ["mail_send"]
    assert "Person" not in json.dumps([task.input, task.metadata])


@pytest.mark.parametrize("name", ["multi_turn_base", "exec_simple", "rest", "sql", "web_search", "memory_kv"])
def test_categories_that_are_not_evaluated_are_named_with_the_reason(data: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}.* not evaluated here, because"):
        _ = opened(data, categories=["simple_python", name]).loaded


def test_an_unknown_category_gets_a_suggestion(data: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'parallel'"):
        _ = opened(data, categories=["paralel"]).loaded


def test_a_category_without_a_file_is_named(data: Path) -> None:
    with pytest.raises(UsageError, match="no category multiple of bfcl; expected BFCL_v4_multiple"):
        _ = opened(data, categories=["multiple"]).loaded


def test_a_folder_without_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no data"):
        _ = opened(tmp_path).loaded


def test_a_missing_answer_key_is_named(data: Path) -> None:
    (data / "possible_answer" / "BFCL_v4_simple_python.json").unlink()
    with pytest.raises(UsageError, match=r"answer key .* is missing"):
        _ = opened(data).loaded


def broken(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {**row, "question": "Please"}
    yield {**row, "question": [[], []]}
    yield {**row, "function": []}
    yield {**row, "function": [{"description": "no name"}]}
    yield {**row, "id": "nobody has the key of this"}


@pytest.mark.parametrize("place", range(5))
def test_a_row_that_is_no_item_is_named(data: Path, place: int) -> None:
    file = data / "BFCL_v4_simple_python.json"
    first, *rest = file.read_text().splitlines()
    row = list(broken(json.loads(first)))[place]
    file.write_text("\n".join([*rest, json.dumps(row)]))
    with pytest.raises(InvalidInput, match=row["id"]):
        _ = opened(data).loaded


async def test_where_nothing_fits_there_may_be_no_function_at_all(tmp_path: Path) -> None:
    write(tmp_path, "live_irrelevance", [], None)
    benchmark = opened(tmp_path)
    assert await score(benchmark, benchmark.loaded.tasks[0], "") == 1.0
    assert await score(benchmark, benchmark.loaded.tasks[0], "send(to='me')") == 0.0


async def test_a_key_with_a_bare_value_accepts_that_value(tmp_path: Path) -> None:
    write(tmp_path, "live_simple", [MAIL], [[{"mail.send": {"to": "Ada", "copies": n}}] for n in range(COUNT)])
    benchmark = opened(tmp_path)
    answer = Answer("", (CalledTool("mail_send", {"to": "ada", "copies": 2}),)).data()
    assert [await score(benchmark, task, answer) for task in benchmark.loaded.tasks[:3]] == [0.0, 0.0, 1.0]


def test_a_limit_for_each_category_draws_by_seed(data: Path) -> None:
    few, again, other = (opened(data, max_per_category=2, seed=seed).loaded.tasks for seed in (1, 1, 2))
    assert len(few) == 8
    assert [task.id for task in few] == [task.id for task in again]
    assert [task.id for task in few] != [task.id for task in other]


def test_a_sample_is_spread_over_the_categories(data: Path) -> None:
    drawn = list(opened(data).tasks(Selection(count=8)))
    assert [task.metadata["category"] for task in drawn].count("irrelevance") == 2


def test_other_content_is_another_benchmark_and_other_names_are_not(data: Path) -> None:
    def identity(**parameters: Any) -> str:
        return opened(data, **parameters).info.digest

    everything = ["live_relevance", "irrelevance", "parallel_multiple", "simple"]
    assert identity() == identity(categories=everything) == identity(seed=3) == identity(sample=2)
    assert len({identity(), identity(categories="simple"), identity(max_per_category=2)}) == 3
    assert identity(max_per_category=2) != identity(max_per_category=2, seed=3)


async def test_the_oracle_earns_everything(data: Path) -> None:
    run = await played(data, "builtin/oracle")
    assert {name for name, value in values(run).items() if value != 1.0} == {"format_only"}
    assert values(run)["format_only"] == 0.0
    assert [metric.n_planned for metric in run.metrics] == [24, 12, 6, 6, 6, 6, 24, 24]


async def test_saying_nothing_earns_what_wants_no_call_and_nothing_else(data: Path) -> None:
    assert values(await played(data, "builtin/empty")) == {
        "score": 0.25,
        "accuracy_calls": 0.0,
        "accuracy_simple_python": 0.0,
        "accuracy_parallel_multiple": 0.0,
        "accuracy_irrelevance": 1.0,
        "accuracy_live_relevance": 0.0,
        "score_official": 0.25,
        "format_only": 0.0,
    }


async def test_calls_at_random_earn_nothing_where_calls_are_judged(data: Path) -> None:
    found = values(await played(data, "builtin/random"))
    assert found["accuracy_calls"] == 0.0
    assert 0.0 < (found["accuracy_irrelevance"] or 0.0) < 1.0


async def test_recorded_calls_are_replayed(data: Path, tmp_path: Path) -> None:
    right = {"id": "simple_python_1", "calls": [{"mail_send": '{"to": "person 1", "copies": 1}'}]}
    wrong = {"id": "simple_python_2", "calls": [{"mail_send": {"to": "Person 2", "copies": "2"}}]}
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text("\n".join(json.dumps(row) for row in (right, wrong)))
    found = await played(data, f"replay/{recorded}", categories=["simple_python"])
    (metric,) = [metric for metric in found.metrics if metric.primary]
    assert (metric.value, metric.n_scored, metric.missing) == (0.5, 2, {"model_rejected": 4})


async def test_an_endpoint_is_offered_the_tools_and_its_calls_are_judged(data: Path) -> None:
    def said(body: dict[str, Any]) -> Answered:
        number = int(body["messages"][-1]["content"].rpartition(" ")[2])
        name = body["tools"][0]["function"]["name"]
        return Answered("", tool_calls=((name, {"to": f"Person {number}", "copies": number % 4}),))

    async with ModelServer(said) as server:
        run = await played(data, f"openai/m@{server.openai_url}", categories=["simple_python"])
    assert values(run)["score"] == pytest.approx(4 / 6)


@pytest.mark.parametrize("status", [400, None])
async def test_an_error_of_the_endpoint_that_passes_is_repaired(data: Path, status: int | None) -> None:
    faults = [] if status is None else [Fault(FaultKind.STATUS, status=status)] * 2
    async with ModelServer("no", faults=faults) as server:
        run = await played(data, f"openai/m@{server.openai_url}", categories=["irrelevance"])
    (metric,) = [metric for metric in run.metrics if metric.primary]
    assert (metric.value, metric.n_planned, metric.missing) == (1.0, COUNT, {})


RIGHT = CalledTool("mail_send", {"to": "Person 3", "copies": 3})
WRONG = CalledTool("mail_send", {"to": "Person 4", "copies": 3})


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "",
        "I'm sorry, I cannot help with that.",
        "Please, number 3",
        "mail_send",
        json.dumps([MAIL]),
        "mail.send(to='Person 3', copies=3) is what I would call.",
        [1, 2, 3],
        {"text": 3},
        "mail_send " * 50_000,
        Answer("", (RIGHT, RIGHT)).data(),
        Answer("", (RIGHT, WRONG)).data(),
        Answer("", (WRONG, RIGHT)).data(),
        Answer("", (RIGHT,) * 1000).data(),
        Answer("", (CalledTool("mail_send", {"to": ["Person 3"], "copies": [3]}),)).data(),
        Answer("", (CalledTool("mail_send", {"to": "Person 3", "copies": "3"}),)).data(),
        Answer("", (CalledTool("mail_send", {"to": "Person 3", "copies": 3, "cc": "Person 4"}),)).data(),
        Answer("", (CalledTool("mail_send", {"to": "Person 0 Person 1 Person 2 Person 3", "copies": 3}),)).data(),
        Answer("", (CalledTool("MAIL_SEND", {"to": "Person 3", "copies": 3}),)).data(),
        "[" + ", ".join(f"mail.send(to='Person {n}', copies={n})" for n in range(9)) + "]",
    ],
)
async def test_other_answers_earn_nothing(data: Path, answer: Any) -> None:
    benchmark = opened(data, categories=["simple_python"])
    assert await score(benchmark, benchmark.loaded.tasks[3], answer) == 0.0


async def test_each_right_answer_is_right_for_its_own_question_only(data: Path) -> None:
    benchmark = opened(data, categories=["simple_python", "parallel_multiple"])
    tasks = benchmark.loaded.tasks
    for place, task in enumerate(tasks):
        earned = [await score(benchmark, other, benchmark.best(task)) for other in tasks]
        assert earned == [float(other == place) for other in range(len(tasks))]


@pytest.mark.parametrize(
    "answer", [Answer("", (RIGHT,)).data(), '[{"name": "anything", "arguments": {}}]', "[mail.send(to='x', copies=1)]"]
)
async def test_any_call_is_wrong_where_no_function_fits(data: Path, answer: Any) -> None:
    benchmark = opened(data, categories=["irrelevance"])
    assert await score(benchmark, benchmark.loaded.tasks[0], answer) == 0.0
    assert await score(benchmark, benchmark.loaded.tasks[0], "mail.send cannot do that") == 1.0


@pytest.mark.parametrize(("called", "earned"), [("ring", 1.0), ("mail_send", 0.0)])
async def test_some_call_of_a_known_function_is_right_where_one_fits(data: Path, called: str, earned: float) -> None:
    benchmark = opened(data, categories=["live_relevance"])
    assert await score(benchmark, benchmark.loaded.tasks[0], Answer("", (CalledTool(called),)).data()) == earned
