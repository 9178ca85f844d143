"""ATIF trajectories become runs; rewards come from the Harbor trial beside them, or are missing."""

import json
from pathlib import Path

import pytest
from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import trajectory, write_harbor_trial

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.engine.imported import measured
from mesocosm.interop.imports.atif_file import read_trajectories


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("version", ["ATIF-v1.0", "ATIF-v1.5", "ATIF-v1.8"])
def test_a_trajectory_is_an_episode(tmp_path: Path, importing: Importing, version: str) -> None:
    (found,) = importing(write(tmp_path / "trajectory.json", trajectory(version=version)))
    (episode,) = found.episodes
    kinds = [event.kind for event in found.events(episode)]
    assert kinds.count(Kind.MODEL_CALL) == episode.steps == 2
    assert (found.run.model, found.run.agent) == ("openai/gpt-5", "terminus")
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.cost_usd) == (50, 9, 0.02)
    assert episode.answer == "Done."


def test_without_a_reward_nothing_is_scored_and_nothing_has_failed(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write(tmp_path / "trajectory.json", trajectory()))
    assert (found.run.metrics, found.run.status) == ((), "finished")


def test_a_harbor_job_has_its_tasks_trials_and_rewards(tmp_path: Path) -> None:
    paths = [write_harbor_trial(tmp_path / "job", "a", attempt, float(attempt % 2)) for attempt in range(3)]
    error = {"exception_type": "VerifierTimeoutError", "exception_message": "late", "exception_traceback": "…"}
    paths.append(write_harbor_trial(tmp_path / "job", "b", 3, None, exception_info=error))
    (read,) = read_trajectories(paths, Redactor(secrets=()))
    run = measured(read.run, read.episodes)
    assert run.benchmark == "toy-bench"
    assert [(one.task_id, one.trial) for one in read.episodes] == [
        ("org/a", 0),
        ("org/b", 0),
        ("org/a", 1),
        ("org/a", 2),
    ]
    (metric,) = run.metrics
    assert (metric.value, metric.n_scored, metric.n_tasks, metric.missing) == (1 / 3, 3, 1, {Cause.GRADER_ERROR: 1})


def test_an_agent_that_ran_out_of_time_is_scored(tmp_path: Path) -> None:
    error = {"exception_type": "AgentTimeoutError", "exception_message": "late", "exception_traceback": ""}
    path = write_harbor_trial(tmp_path / "job", "a", 1, 0.0, exception_info=error)
    (read,) = read_trajectories([path], Redactor(secrets=()))
    assert (read.episodes[0].status, read.episodes[0].scores[0].value) == (EpisodeStatus.TIMEOUT, 0.0)


def test_a_continuation_belongs_to_what_it_continues(tmp_path: Path) -> None:
    first = write(tmp_path / "t.json", trajectory(0, continued_trajectory_ref="t.cont-1.json"))
    more = trajectory(0, session_id="other")
    more["steps"] = [
        {**more["steps"][1], "is_copied_context": True},
        {"step_id": 2, "source": "agent", "message": "Later."},
    ]
    second = write(tmp_path / "t.cont-1.json", more)
    (read,) = read_trajectories([first, second], Redactor(secrets=()))
    (entry,) = read.entries()
    assert (len(read.episodes), entry.episode.answer, entry.episode.steps) == (1, "Later.", 3)


def test_calls_of_subagents_have_their_role(tmp_path: Path, importing: Importing) -> None:
    helper = {**trajectory(1), "trajectory_id": "sub", "agent": {"name": "helper", "version": "1"}}
    (found,) = importing(write(tmp_path / "trajectory.json", trajectory(subagent_trajectories=[helper])))
    calls = [event.payload for event in found.events(found.episodes[0]) if event.kind is Kind.MODEL_CALL]
    assert [call.get("role") for call in calls] == [None, None, "helper", "helper"]
    assert found.episodes[0].steps == 2


def test_each_agent_and_model_is_a_run_of_its_own(tmp_path: Path) -> None:
    other = trajectory(1)
    other["agent"]["model_name"] = "openai/gpt-6"
    paths = [write(tmp_path / "a.json", trajectory(0)), write(tmp_path / "b.json", other)]
    assert [read.run.model for read in read_trajectories(paths, Redactor(secrets=()))] == [
        "openai/gpt-5",
        "openai/gpt-6",
    ]


def test_a_trajectory_without_steps_is_refused(tmp_path: Path, importing: Importing) -> None:
    with pytest.raises(UsageError, match="at least one of `steps`"):
        importing(write(tmp_path / "trajectory.json", {**trajectory(), "steps": []}))


def test_a_step_of_an_unknown_source_is_refused(tmp_path: Path, importing: Importing) -> None:
    broken = trajectory()
    broken["steps"][0]["source"] = "god"
    with pytest.raises(UsageError, match="damaged trajectory"):
        importing(write(tmp_path / "trajectory.json", broken))
