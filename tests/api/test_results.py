"""Values, runs, episodes, comparisons, sweeps: what a call gives back."""

import copy
import json
import pickle
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.api.conftest import ROWS

import mesocosm as mc
from mesocosm.api import waiting


def evaluated(**arguments: Any) -> mc.Run:
    given = {"prompt": "{question}", "grader": "exact", "model": "builtin/oracle", **arguments}
    return mc.evaluate(given.pop("what", ROWS), **given)


def half(question: str) -> str:
    first = int(question.split(maxsplit=1)[0])
    return str(2 * first) if first < 3 else "no idea"


def test_passes_of_several_trials_have_intervals_over_tasks() -> None:
    run = mc.evaluate(ROWS, prompt="{question}", grader="exact", model="builtin/oracle", trials=2)
    rows = run.passes()
    assert [(row["k"], float(row["pass@k"]), float(row["pass^k"]), row["tasks"]) for row in rows] == [
        (k, 1.0, 1.0, len(ROWS)) for k in (1, 2)
    ]
    assert rows[1]["pass^k"].low < 1.0
    assert rows[1]["pass^k"].weak


def test_a_value_is_a_float_that_carries_its_interval() -> None:
    score = evaluated(agent=half, model=None).score
    assert score is not None
    assert (score > 0.4, f"{score:.2f}", score + 1) == (True, "0.50", 1.5)
    assert repr(score) == "0.5000 [0.1876, 0.8124] weak n=6/6"
    for other in (copy.copy(score), pickle.loads(pickle.dumps(score))):
        assert (other, other.low, other.method) == (score, score.low, score.method)


def test_messages_hold_long_observations_and_end_with_the_reply() -> None:
    run = mc.evaluate("context-bench", model="builtin/oracle", limit=1, params={"families": ["needle"]})
    (episode,) = run.episodes()
    asked, replied = episode.messages
    assert asked["content"].startswith("Read the text")
    assert (replied["role"], replied["content"]) == ("assistant", episode.answer)
    assert [row["family"] for row in run.by("family")] == ["needle"]


def test_a_run_shows_scores_with_intervals_and_what_to_know() -> None:
    run = evaluated()
    lines = repr(run).splitlines()
    assert lines[0] == f"{run.benchmark} · builtin/oracle · finished  6/6"
    assert lines[1] == "* exact  1.0000  [0.6097, 1.0000] weak  6/6"
    assert lines[2].startswith("note: the right answer is column 'answer'")
    assert lines[3] == f"run {run.id} in ./results"
    assert "<b>rows-" in run._repr_html_()


def test_html_of_a_run_holds_names_as_text() -> None:
    run = evaluated(grader={"<script>": lambda answer, expected: True})
    assert "<script>" not in run._repr_html_()


def test_episodes_are_filtered() -> None:
    run = evaluated(agent=half, model=None)
    assert [one.task for one in run.episodes(passed=False)] == ["3", "4", "5"]
    assert [one.task for one in run.episodes(label={"level": "easy"})] == ["0", "1", "2"]
    assert [one.task for one in run.episodes(label={"level": "hard"}, passed=True)] == []
    assert [one.task for one in run.episodes(search="no idea")] == ["3", "4", "5"]
    assert list(run.episodes(status="failed")) == []
    with pytest.raises(mc.UsageError, match="no status is called 'broken'"):
        list(run.episodes(status="broken"))


def test_an_episode_has_question_answer_and_score() -> None:
    episode = next(evaluated(agent=half, model=None).episodes(passed=False))
    assert (episode.input, episode.expected, episode.answer, episode.score) == ("3 + 3?", "6", "no idea", 0.0)
    assert episode.labels == {"question": "3 + 3?", "level": "hard"}
    assert (episode.status, episode.cause, episode.steps) == ("completed", "", 1)
    assert repr(episode) == "<Episode 3 completed score=0>"


def test_why_groups_what_went_wrong() -> None:
    (row,) = evaluated(agent=half, model=None).why()
    assert (row["cause"], row["episodes"], row["share"]) == ("Another answer", 3, "50%")
    assert "(nothing)" in repr(evaluated().why())


def test_tables_have_the_same_columns_in_every_row() -> None:
    rows = evaluated(agent=half, model=None).to_dicts()
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert [row["score.exact"] for row in rows] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert {"label.level", "tokens", "cost_usd", "answer"} <= rows[0].keys()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mc.UsageError, match="pip install pandas"):
        evaluated().to_pandas()


def test_a_gate_is_an_assertion() -> None:
    run = evaluated(agent=half, model=None)
    assert run.fail_if("score<0.4", "missing>2%") is run
    with pytest.raises(mc.GateFailed, match=r"score<0.8: exact is 0.5000"):
        run.fail_if("score<0.8")
    with pytest.raises(AssertionError):
        run.fail_if("score<0.8")
    with pytest.raises(mc.UsageError, match="compare"):
        run.fail_if("regression")
    with pytest.raises(mc.UsageError, match="is not a condition"):
        run.fail_if("score is low")
    with pytest.raises(mc.UsageError, match="no metric 'exat'; did you mean 'exact'"):
        run.fail_if("exat<0.8")


def test_a_gate_on_nothing_scored_does_not_pass() -> None:
    run = evaluated(grader=lambda answer, expected: None)
    with pytest.raises(mc.GateFailed):
        run.fail_if("score<0.1")


def test_runs_are_found_by_name_and_place() -> None:
    first = evaluated(name="first", limit=1)
    second = evaluated(limit=2)
    assert (mc.get_run("last"), mc.get_run("last~1"), mc.get_run("first")) == (second, first, first)
    assert mc.get_run(first.id[:20]) == first
    with pytest.raises(mc.UsageError):
        mc.get_run("last~7")
    assert [run.id for run in mc.runs()] == [second.id, first.id]
    assert len(mc.runs(model="builtin/empty")) == 0
    with pytest.raises(mc.UsageError, match="no status"):
        mc.runs(status="done")


def test_no_results_are_made_by_looking_for_them(place: Path) -> None:
    assert len(mc.runs()) == 0
    with pytest.raises(mc.UsageError):
        mc.get_run("last")
    assert not (place / "results").exists()


def test_results_are_those_of_the_project(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MESOCOSM_RESULTS_DIR")
    (place / "pyproject.toml").touch()
    inside = place / "src" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    run = evaluated()
    assert Path(run.place) == place / "benchmark_results" / "orchestrator.sqlite"
    assert evaluated(store=place / "elsewhere").place == str(place / "elsewhere" / "orchestrator.sqlite")


def test_two_prompts_are_compared_row_by_row() -> None:
    found = mc.sweep(
        ROWS,
        prompt={"plain": "{question}", "other": "x {question}"},
        grader="exact",
        agent=half_or_none,
        progress=False,
    )
    assert found.labels == ("plain", "other")
    compared = found.compare()
    (pair,) = compared.pairs
    assert (pair.a, pair.b, pair.difference.n) == ("plain", "other", 6)
    assert pair.difference == -0.5
    assert [(a.score, b.score) for a, b in compared.flipped()] == [(1.0, 0.0)] * 3
    assert "difference -0.5000" in repr(compared)
    assert found.best() == found["plain"]


def half_or_none(question: str) -> str:
    return "none" if question.startswith("x") else half(question)


def test_a_regression_fails_the_gate() -> None:
    rows = [{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    good = mc.evaluate(rows, prompt="{question}", grader="exact", model="builtin/oracle")
    bad = mc.evaluate(rows, prompt="{question}", grader="exact", model="builtin/empty")
    assert good.compare(bad).pairs[0].winner == "builtin/oracle"
    with pytest.raises(mc.GateFailed, match=r"regression p<0\.05"):
        mc.compare(good, bad).fail_if("regression p<0.05")
    mc.compare(bad, good).fail_if("regression p<0.05")
    assert mc.compare(good, bad, baseline=bad).pairs[0].winner == "builtin/oracle"


def test_runs_on_other_rows_are_not_compared_quietly() -> None:
    here, there = evaluated(), evaluated(what=ROWS[:3])
    with pytest.raises(mc.UsageError, match="same rows"):
        mc.compare(here, there)
    with pytest.raises(mc.UsageError, match="two different runs"):
        mc.compare(here, here)


def test_a_sweep_over_models_shares_one_budget() -> None:
    found = mc.sweep(ROWS, prompt="{question}", grader="exact", model=["builtin/oracle", "builtin/empty"])
    assert [(run.model, run.score) for run in found] == [("builtin/oracle", 1.0), ("builtin/empty", 0.0)]
    with pytest.raises(mc.UsageError, match="no value to sweep over"):
        mc.sweep(ROWS, prompt="{question}", model=[])


def test_a_plan_runs_nothing(place: Path) -> None:
    plan = mc.plan(ROWS, prompt="{question}", grader="exact", model="builtin/oracle", trials=2)
    assert (plan.tasks, plan.episodes, plan.finished, plan.missing) == (6, 12, 0, ())
    assert not (place / "results").exists()
    evaluated()
    again = mc.plan(ROWS, prompt="{question}", grader="exact", model="builtin/oracle")
    assert (again.episodes, again.finished, again.pending) == (6, 6, 0)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "run.zip"])
def test_a_run_is_exported_by_the_ending_of_its_file(place: Path, name: str) -> None:
    path = evaluated().export(place / name)
    assert path.stat().st_size > 100
    if name.endswith("jsonl"):
        assert len([json.loads(line) for line in path.read_text().splitlines()]) == 6
    with pytest.raises(mc.UsageError, match="is no format"):
        evaluated().export(place / "run.docx")


def test_a_bundle_is_read_into_other_results(place: Path) -> None:
    run = evaluated()
    bundle = run.export(place / "run.zip")
    (copied,) = mc.import_runs(bundle, store=place / "other")
    assert (copied.id, copied.score, copied != run) == (run.id, 1.0, True)


def test_no_results_are_made_for_a_file_that_cannot_be_read(place: Path) -> None:
    (place / "damaged.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(mc.MesocosmError):
        mc.import_runs(place / "damaged.zip", store=place / "other")
    assert not (place / "other").exists()


def test_a_run_is_deleted() -> None:
    run = evaluated()
    run.delete()
    assert len(mc.runs()) == 0


def test_observers_get_every_episode() -> None:
    seen: list[str] = []
    done: list[int] = []
    evaluated(on_episode=lambda episode: seen.append(episode.task), progress=lambda one: done.append(one.done))
    assert sorted(seen) == list("012345")
    assert done[-1] == 6


async def test_a_call_works_where_a_loop_is_running() -> None:
    assert evaluated().score == 1.0


def test_ctrl_c_keeps_what_is_finished_and_the_same_call_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    began = threading.Event()

    def agent(question: str) -> str:
        if question.startswith("2"):
            began.set()
            release.wait(30)
        return half(question)

    def interrupt() -> None:
        began.wait(30)
        import _thread

        _thread.interrupt_main()

    def stopping(state: Any, control: Any) -> None:
        stop(state, control)
        state.loop.call_soon_threadsafe(release.set)

    stop = waiting._stop
    monkeypatch.setattr(waiting, "_stop", stopping)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(mc.Interrupted) as caught:
        evaluated(agent=agent, model=None, parallel=1)
    run = caught.value.run
    assert run is not None
    assert run.status == "stopped"
    assert run.missing.get("not_run", 0) > 0
    began.set()
    whole = evaluated(agent=agent, model=None, parallel=1)
    assert (whole.id, whole.status, whole.score) == (run.id, "finished", 0.5)


class Guess(mc.Environment):
    """Guess a number from 1 to 3."""

    max_steps = 3
    action_space: ClassVar = {"type": "discrete", "enum_values": ["1", "2", "3"]}

    def reset(self, seed: int | None = None, **params: Any) -> str:
        self.secret = str((seed or 0) % 3 + 1)
        return "1, 2 or 3?"

    def step(self, action: Any) -> mc.StepResult:
        return mc.StepResult("", float(action == self.secret), action == self.secret, False)

    def oracle(self) -> str:
        return self.secret


def test_an_environment_class_plays_twenty_seeds() -> None:
    run = mc.evaluate(Guess, model="builtin/oracle")
    assert (run.status, run.score, run.score and run.score.n) == ("finished", 1.0, 20)
    assert mc.evaluate(Guess, model="builtin/oracle", only=[7, 9]).score == 1.0
    with pytest.raises(mc.UsageError, match="prompt= is for rows"):
        mc.evaluate(Guess, prompt="{x}", model="builtin/oracle")
    with pytest.raises(mc.UsageError, match="pass the class"):
        mc.evaluate(Guess(), model="builtin/oracle")


def test_a_benchmark_is_called_by_its_name() -> None:
    run = mc.evaluate("Context_Bench", model="builtin/oracle", limit=2, params={"families": ["needle"]})
    assert (run.benchmark, run.score, run.score and run.score.n) == ("context-bench", 1.0, 2)
    assert "context-bench" in [row["name"] for row in mc.list_benchmarks()]


def test_a_file_offers_benchmarks(place: Path) -> None:
    (place / "mine.py").write_text(
        "import mesocosm as mc\n"
        "@mc.benchmark\n"
        "def sums(most: int = 4):\n"
        "    rows = [{'q': f'{n} + 1?', 'sum': str(n + 1)} for n in range(most)]\n"
        "    return mc.Benchmark(rows, name='sums', prompt='{q}', expected='sum', grader='numeric', licence='MIT')\n"
        "def other():\n    return 1\n"
    )
    run = mc.evaluate("mine.py@sums", model="builtin/oracle", params={"most": 3})
    assert (run.benchmark, run.score, run.score and run.score.n) == ("sums", 1.0, 3)
    with pytest.raises(mc.UsageError, match="did you mean 'most'"):
        mc.evaluate("mine.py@sums", model="builtin/oracle", params={"mots": 3})
    with pytest.raises(mc.UsageError, match=r"@mesocosm\.benchmark"):
        mc.evaluate("mine.py@other", model="builtin/oracle")


def test_a_file_that_evaluates_itself_while_it_is_loaded_is_refused(place: Path) -> None:
    (place / "loop.py").write_text(
        "import mesocosm as mc\n"
        "@mc.benchmark\n"
        "def one():\n    return mc.Benchmark([{'q': '1', 'answer': '1'}], name='one', prompt='{q}')\n"
        "mc.evaluate('loop.py@one', model='builtin/oracle')\n"
    )
    with pytest.raises(mc.UsageError, match="__main__"):
        mc.evaluate("loop.py@one", model="builtin/oracle")


def test_tables_are_html_in_a_notebook_and_names_are_text() -> None:
    run = evaluated(
        what=[{"question": "1?", "answer": "1", "level": "<b>"}, {"question": "2?", "answer": "2", "level": "x"}]
    )
    assert "&lt;b&gt;" in run.by("level")._repr_html_()
    assert "<td>builtin/oracle</td>" in mc.runs()._repr_html_()
