"""Trajectories of tau-bench and τ² keep task and trial, so that trials of one task are not independent samples."""

import json
from pathlib import Path

import pytest
from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import tau2_results, tau_results

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause, UsageError
from mesocosm.engine.results import results

NAME = "tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0523.json"


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_table_of_rewards_is_clustered_by_task(tmp_path: Path, importing: Importing) -> None:
    rows = [f"{task},{trial},{float(task > trial)}" for task in range(4) for trial in range(4)]
    path = tmp_path / "retail-rewards.csv"
    path.write_text("\n".join(["task_id,trial,reward", *rows]))
    (found,) = importing(path)
    metric = found.run.metrics[0]
    assert (metric.n_scored, metric.n_tasks, metric.value) == (16, 4, 6 / 16)
    hats = [one.hat.value for one in results(found.run, found.store.episodes, found.run.metrics).passes]
    assert hats == pytest.approx([6 / 16, (3 + 1) / 6 / 4, 1 / 4 / 4, 0.0])


def test_a_trajectory_is_an_episode_with_its_conversation(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write(tmp_path / NAME, tau_results()))
    run = found.run
    assert (run.model, run.agent, run.spec.model.temperature) == ("unknown/gpt-4o", "tool-calling", 0.0)
    assert run.spec.selection.trials == 2
    assert [(one.task_id, one.trial) for one in found.episodes][:4] == [("0", 0), ("1", 0), ("2", 0), ("0", 1)]
    first = found.episodes[0]
    assert (first.steps, first.answer, first.labels) == (2, "Done.", {"user": "u0"})


def test_what_crashed_is_missing_and_not_zero(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write(tmp_path / NAME, tau_results()))
    crashed = found.episodes[-1]
    assert crashed.scores[0].missing is Cause.ENVIRONMENT_ERROR
    assert crashed.failure is not None
    assert crashed.failure.message == "rate limit"
    assert (found.run.metrics[0].n_scored, found.run.metrics[0].value) == (5, 2 / 5)


def test_the_time_of_the_file_is_no_part_of_its_identity(tmp_path: Path, importing: Importing) -> None:
    import os

    path = write(tmp_path / NAME, tau_results())
    (first,) = importing(path)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    (second,) = importing(path)
    assert (second.run.id, second.new) == (first.run.id, 0)


def test_two_runs_share_their_tasks(tmp_path: Path, importing: Importing) -> None:
    (first,) = importing(write(tmp_path / "a-airline.json", tau_results()))
    (second,) = importing(write(tmp_path / "b-airline.json", tau_results(trials=1)))
    assert {one.task_digest for one in first.episodes} == {one.task_digest for one in second.episodes}
    assert first.run.benchmark_digest == second.run.benchmark_digest
    assert first.run.id != second.run.id


def test_a_trial_that_is_there_twice_is_refused(tmp_path: Path, importing: Importing) -> None:
    with pytest.raises(UsageError, match="trial 0 of task 0 more than once"):
        importing(write(tmp_path / NAME, [*tau_results(), tau_results()[0]]))


def test_tau2_has_trials_costs_and_reasons(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write(tmp_path / "results.json", tau2_results()))
    run = found.run
    assert (run.benchmark, run.model, run.agent) == ("tau2-bench/retail", "openai/gpt-4.1", "llm_agent")
    assert [(one.task_id, one.trial, one.seed, one.status) for one in found.episodes] == [
        ("t1", 0, None, EpisodeStatus.COMPLETED),
        ("t2", 0, None, EpisodeStatus.TRUNCATED),
        ("t1", 1, None, EpisodeStatus.COMPLETED),
        ("t2", 1, None, EpisodeStatus.FAILED),
    ]
    first = found.episodes[0]
    assert (first.usage.prompt, first.usage.completion, first.usage.cost_usd) == (11, 3, 0.002)
    assert found.episodes[3].scores[0].missing is Cause.ENVIRONMENT_ERROR
    assert (run.metrics[0].value, run.metrics[0].n_tasks) == (1 / 3, 2)


def test_a_table_with_a_bad_line_names_it(tmp_path: Path, importing: Importing) -> None:
    path = tmp_path / "x.csv"
    path.write_text("task_id,trial,reward\n0,0,1\n1,0,good\n")
    with pytest.raises(UsageError, match="line 3"):
        importing(path)
