"""The benchmark gaia_orchestrated: its matrix, its floor and ceiling, and what the agent never sees."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.gaia_orchestrated.benchmark import Gaia
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.failure import Cause, Incompatible, InvalidInput, UnknownName, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

EVERYTHING = Selection(None, None)


def parameters(**given: Any) -> dict[str, Any]:
    known = read_catalogue().find("gaia-orchestrated")
    (settings,) = settle([known.descriptor], given, [known.descriptor])
    return dict(settings.parameters)


def opened(**given: Any) -> Gaia:
    benchmark = open_benchmark(reference(read_catalogue().find("gaia_orchestrated"), parameters(**given)))
    assert isinstance(benchmark, Gaia)
    return benchmark


async def played(place: Path, model: str, count: int | None = None, **given: Any) -> tuple[Run, Store]:
    store = open_store(place / "results.sqlite")
    ref = reference(read_catalogue().find("gaia_orchestrated"), parameters(**given))
    spec = RunSpec(ref, ModelSettings(model), AgentSettings("chat"), Selection(None, count), parallel=4)
    return await session.run(spec, store), store


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def test_the_example_of_the_matrix_counts_questions_and_plays_each_in_every_cell(nothing_installed: None) -> None:
    given = {"matrix": True, "dataset": "sample", "max_questions": 10, "strict_capabilities": True}
    benchmark = opened(**given)
    tasks = list(benchmark.tasks(Selection(None, 10)))
    assert benchmark.count(Selection(None, 10)) == len(tasks) == 20
    assert len({task.cluster for task in tasks}) == 10
    assert {(task.metadata["mode"], task.metadata["provider"]) for task in tasks} == {
        ("orchestrated", "mesocosm"),
        ("direct_shell", "mesocosm"),
    }
    assert len({task.digest() for task in tasks}) == 20


def test_a_larger_draw_holds_a_smaller_one_and_another_seed_draws_others() -> None:
    ids = {task.id for task in opened(providers="mesocosm").tasks(Selection(None, 6))}
    more = {task.id for task in opened(providers="mesocosm").tasks(Selection(None, 12))}
    others = {task.id for task in opened(providers="mesocosm", seed=1).tasks(Selection(None, 6))}
    assert ids < more
    assert ids != others


def test_questions_of_one_level_can_be_taken() -> None:
    tasks = list(opened(level=1, providers=["mesocosm"]).tasks(EVERYTHING))
    assert {task.metadata["category"] for task in tasks} == {"level 1"}


async def test_the_oracle_reaches_the_ceiling_in_both_modes(tmp_path: Path, nothing_installed: None) -> None:
    run, _ = await played(tmp_path, "builtin/oracle", matrix=True)
    found = values(run)
    assert found["overall_accuracy"] == 1.0
    assert found["overall_accuracy:orchestrated"] == found["overall_accuracy:direct_shell"] == 1.0
    assert found["overall_accuracy:mesocosm"] == found["delegation_success_rate"] == 1.0
    parts = {metric.name: (metric.n_scored, metric.n_planned) for metric in run.metrics}
    assert parts["overall_accuracy:orchestrated"] == (28, 28)
    assert parts["overall_accuracy"] == (56, 56)


async def test_saying_nothing_is_the_floor(tmp_path: Path, nothing_installed: None) -> None:
    run, _ = await played(tmp_path, "builtin/empty", matrix=True)
    found = values(run)
    assert found["overall_accuracy"] == 0.0
    assert found["delegation_success_rate"] == 0.0
    assert found["capability_compliance_rate"] == 0.0


async def test_a_provider_that_is_not_installed_is_missing_and_not_wrong(
    tmp_path: Path, nothing_installed: None
) -> None:
    run, store = await played(tmp_path, "builtin/oracle", 2, providers="mesocosm, codex", matrix=True)
    found = {metric.name: metric for metric in run.metrics}
    assert found["overall_accuracy:codex"].value is None
    assert found["overall_accuracy:codex"].missing == {"program_failed": 4}
    assert found["overall_accuracy"].value == 1.0
    assert found["overall_accuracy"].missing == {"program_failed": 4}
    assert found["overall_accuracy:direct_shell:codex"].n_planned == 2
    failed = [episode for episode in store.episodes.list(run.id).items if episode.failure is not None]
    assert all("no program codex on PATH" in episode.failure.message for episode in failed if episode.failure)


async def test_without_a_required_capability_a_strict_cell_is_not_played_and_wrong(
    tmp_path: Path, nothing_installed: None
) -> None:
    run, store = await played(tmp_path, "builtin/oracle", 3, required_capabilities="code.shell", providers="mesocosm")
    assert values(run)["overall_accuracy"] == 0.0
    assert run.usage.calls == 0
    for episode in store.episodes.list(run.id).items:
        assert episode.failure is not None
        assert episode.failure.cause is Cause.CAPABILITY_MISSING
        score = next(score for score in episode.scores if score.name == "overall_accuracy")
        assert score.explanation == "missing required capabilities code.shell of provider mesocosm"


async def test_without_strictness_it_is_played_and_the_violation_is_told(
    tmp_path: Path, nothing_installed: None
) -> None:
    given = {"required_capabilities": ["code.shell", "research.web_search"], "strict_capabilities": False}
    run, store = await played(tmp_path, "builtin/oracle", 2, providers="mesocosm", **given)
    assert values(run)["overall_accuracy"] == 1.0
    assert values(run)["capability_compliance_rate"] == 0.5
    evidence = store.episodes.list(run.id).items[0].terminal_info["capabilities"]
    assert evidence["violations"] == [
        "code.shell is required and not declared",
        "code.shell is required and was not used",
    ]
    assert "research.web_search" in evidence["observed"]


def test_without_documents_only_what_the_calculator_shows_is_required() -> None:
    benchmark = opened(dataset="gaia", providers=["mesocosm"])
    assert benchmark.required == benchmark.offered() == ("research.code_exec",)


def test_when_no_asked_provider_is_installed_it_cannot_run(nothing_installed: None) -> None:
    benchmark = opened(providers=["claude-code", "swe-agent", "codex"])
    with pytest.raises(Incompatible, match="'mesocosm', which is always there") as found:
        _ = benchmark.info
    assert len(found.value.missing) == 4


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"providers": ["claude"]}, UnknownName),
        ({"required_capabilities": ["research.telepathy"]}, UsageError),
        ({"orchestrator_model": "openai/x"}, UsageError),
        ({"dataset": "jsonl"}, UsageError),
        ({"dataset": "gaia"}, Incompatible),
    ],
)
def test_what_cannot_be_done_is_refused(
    given: dict[str, Any], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(error):
        _ = opened(**given).info


async def test_questions_of_a_file_are_graded_and_named(tmp_path: Path, nothing_installed: None) -> None:
    rows = [{"Question": "What is 6 * 7?", "Final answer": "42", "Level": 1}, {"question": "Two?", "answer": 2}]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given: dict[str, Any] = {
        "dataset": "jsonl",
        "dataset_path": str(file),
        "required_capabilities": "research.code_exec",
    }
    run, _ = await played(tmp_path, "builtin/oracle", matrix=True, **given)
    assert values(run)["overall_accuracy"] == 1.0
    assert run.counts.planned == 4
    assert run.info["card"]["split"] == "jsonl"


def test_rows_without_question_or_answer_and_equal_names_are_all_named(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": "b", "task_id": "t"}, {"question": "a"}, {"answer": "b"}]
    rows.append({"question": "c", "answer": "d", "task_id": "t"})
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidInput, match="3 problems"):
        _ = opened(dataset="jsonl", dataset_path=str(file)).info


async def test_gold_data_is_in_nothing_that_is_shown() -> None:
    benchmark = opened(matrix=True, providers="mesocosm")
    for task in benchmark.tasks(EVERYTHING):
        assert set(task.input) == {"question", "mode", "provider"}
        assert "answer" not in json.dumps(task.metadata)
        world = await benchmark.environment(task, "episode")
        shown = (await world.reset()).data
        messages = [message["content"] for message in shown["messages"]]
        assert messages[0].startswith(task.input["question"])
        rest = json.dumps({**shown, "messages": [messages[0].removeprefix(task.input["question"])]})
        assert not any(source in rest for source in task.target["sources"])
        assert f'"{task.target["answer"]}"' not in rest
        nothing = (await world.step({"text": "", "tool_calls": []})).observation.data
        assert task.target["answer"] not in nothing["messages"][0]["content"]


def said(benchmark: Gaia, text: str) -> list[Any]:
    finish = {"text": "", "tool_calls": [{"name": "finish", "arguments": {"answer": text}}]}
    return [text, f"FINAL ANSWER: {text}", finish, {"text": text, "tool_calls": finish["tool_calls"]}]


@pytest.mark.parametrize("mode", ["orchestrated", "direct_shell"])
async def test_adversarial_answers_earn_nothing(mode: str) -> None:
    benchmark = opened(execution_mode=mode, providers="mesocosm", max_steps=5)
    tasks = list(benchmark.tasks(EVERYTHING))
    golds = [task.target["answer"] for task in tasks]
    for task in tasks:
        gold = task.target["answer"]
        noise = ["", "I cannot help with that.", benchmark.job(task).prompt, ", ".join(golds), " or ".join(golds)]
        noise += [f"{gold} " * 50, "x" * 300_000, f"It may be {gold}, or perhaps not {gold}.", "null", "[]", "{}"]
        actions = [action for text in noise for action in said(benchmark, text)]
        actions += [None, 3, [], {"tool_calls": "finish"}, {"answer": gold}, "FINAL ANSWER: a\nFINAL ANSWER: " + gold]
        for action in actions:
            assert await score(benchmark, task, action) == 0.0


async def score(benchmark: Gaia, task: Any, action: Any) -> float | None:
    """Return the score of saying the same again and again."""
    from mesocosm.core.episode import Episode

    world = await benchmark.environment(task, "episode")
    await world.reset()
    step = await world.step(action)
    while not (step.terminated or step.truncated):
        step = await world.step(action)
    episode = Episode("e", "r", task.digest(), task.id, terminal_info=step.info)
    return (await benchmark.grade(task, episode))[0].value


async def test_random_calls_are_the_floor(tmp_path: Path, nothing_installed: None) -> None:
    run, _ = await played(tmp_path, "builtin/random", 8, matrix=True, max_steps=6)
    assert run.status is RunStatus.FINISHED
    assert values(run)["overall_accuracy"] == 0.0


async def test_a_corpus_of_ones_own_is_searched(tmp_path: Path, nothing_installed: None) -> None:
    questions, corpus = tmp_path / "questions.jsonl", tmp_path / "corpus.jsonl"
    row = {"question": "How tall is the tower?", "answer": "9", "sources": ["https://a.example/tower"]}
    questions.write_text(json.dumps(row))
    corpus.write_text(json.dumps({"url": "https://a.example/tower", "title": "Tower", "text": "It is 9 metres tall."}))
    given: dict[str, Any] = {"dataset_path": str(questions), "corpus_path": str(corpus)}
    run, store = await played(tmp_path, "builtin/oracle", dataset="jsonl", **given)
    assert values(run)["overall_accuracy"] == 1.0
    observed = store.episodes.list(run.id).items[0].terminal_info["capabilities"]["observed"]
    assert observed == ["research.web_search", "research.web_browse"]
