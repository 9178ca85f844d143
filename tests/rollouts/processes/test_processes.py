"""Rollouts in processes of their own: what comes of a try, and what a bad one does to the others."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.source import read_source

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]


def words(ended: RowOutcome) -> str:
    assert ended.sample is not None
    return str(ended.sample.messages[-1]["content"])


def cause(ended: RowOutcome) -> Cause:
    assert ended.failure is not None
    return ended.failure.cause


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


async def cancelled(place: ProcessExecutor, work: RowJob, log: LineLog) -> int:
    """Ask the server how many tries it was told to cancel, until it was told of any."""
    told: list[str] = []
    while not told:
        told = json.loads(words(await place.run(work, log)))
    return len(told)


async def test_a_try_brings_its_sample_and_its_reward(opened: Opened, working: Working, log: LineLog) -> None:
    ended = await (await opened()).run(working("fine"), log)
    assert ended.sample is not None
    assert ended.graded
    assert ended.failure is None
    assert (ended.sample.reward, ended.sample.metrics, ended.sample.extra) == (0.5, {"length": 3.0}, {"a": 1})
    assert words(ended) == "said fine"


@pytest.mark.parametrize(
    ("word", "expected", "message"),
    [
        ("raises", Cause.WORKFLOW_FAILED, "boom"),
        ("wrong", Cause.WORKFLOW_INVALID, "must return"),
        ("value", Cause.WORKFLOW_FAILED, "invalid literal"),
        ("late", Cause.WORKFLOW_TIMEOUT, "deadline"),
        ("grader raises", Cause.GRADER_ERROR, "bad grade"),
        ("ungraded", Cause.GRADER_ERROR, "no grader, or the row has neither label nor metadata"),
    ],
)
async def test_a_failure_has_its_true_cause(
    opened: Opened, working: Working, log: LineLog, word: str, expected: Cause, message: str
) -> None:
    ended = await (await opened()).run(working(word), log)
    assert ended.failure is not None
    assert (ended.failure.cause, ended.graded) == (expected, False)
    assert message in ended.failure.message


async def test_servers_that_know_one_key_reach_the_model_with_it(
    opened: Opened, working: Working, log: LineLog
) -> None:
    work = working("one key")
    assert words(await (await opened()).run(work, log)) == work.model.api_key


async def test_several_samples_of_an_older_server_are_joined(opened: Opened, working: Working, log: LineLog) -> None:
    ended = await (await opened()).run(working("several"), log)
    assert ended.sample is not None
    assert ended.failure is None
    assert (ended.sample.reward, len(ended.sample.messages)) == (0.5, 4)
    assert ended.sample.metrics == {"a.length": 3.0, "a.reward": 1.0, "b.length": 3.0, "b.reward": 0.0}


async def test_what_a_grader_could_not_grade_is_kept(opened: Opened, working: Working, log: LineLog) -> None:
    assert words(await (await opened()).run(working("grader raises"), log)) == "said grader raises"


async def test_a_removed_sample_is_left_out(opened: Opened, working: Working, log: LineLog) -> None:
    ended = await (await opened()).run(working("removed"), log)
    assert ended.sample is not None
    assert (ended.sample.left_out, ended.sample.reward, ended.failure) == (True, None, None)


async def test_a_try_that_never_answers_ends_and_its_server_is_told(
    opened: Opened, working: Working, log: LineLog
) -> None:
    place = await opened()
    ended = await place.run(working("never", workflow_seconds=0.2), log)
    assert cause(ended) is Cause.WORKFLOW_TIMEOUT
    assert await cancelled(place, working("cancelled"), log) == 1


async def test_a_grader_that_never_answers_ends(opened: Opened, working: Working, log: LineLog) -> None:
    ended = await (await opened()).run(working("grader never", grader_seconds=0.2), log)
    assert cause(ended) is Cause.GRADER_TIMEOUT


async def test_a_row_that_blocks_ends_and_those_beside_it_do_not_suffer(
    opened: Opened, working: Working, log: LineLog, notices: list[str]
) -> None:
    place = await opened()
    blocked, *others = await asyncio.gather(
        place.run(working("block", workflow_seconds=1.5), log), *(place.run(working("fine"), log) for _ in range(3))
    )
    assert cause(blocked) is Cause.WORKFLOW_TIMEOUT
    assert blocked.failure is not None
    assert "blocked its event loop at main.py:" in blocked.failure.message
    assert [words(other) for other in others] == ["said fine"] * 3
    assert ["process of its own" in notice for notice in notices] == [True]


async def test_a_row_whose_time_another_one_took_is_run_again(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened()
    held, late = await asyncio.gather(
        place.run(working("hold"), log), place.run(working("late once", workflow_seconds=1.0), log)
    )
    assert [words(held), words(late)] == ["said hold", "said late once"]


async def test_a_row_that_its_server_cancelled_unasked_is_run_again(
    opened: Opened, working: Working, log: LineLog
) -> None:
    place = await opened()
    _, ended = await asyncio.gather(place.run(working("fine"), log), place.run(working("cancelled once"), log))
    assert words(ended) == "said cancelled once"


async def test_a_timeout_that_is_a_row_s_own_doing_stays_one(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened()
    _, late = await asyncio.gather(
        place.run(working("fine"), log), place.run(working("late once", workflow_seconds=1.0), log)
    )
    assert cause(late) is Cause.WORKFLOW_TIMEOUT


async def test_after_a_blocking_row_each_row_has_a_process(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened(concurrency=2)
    await place.run(working("block", workflow_seconds=0.3), log)
    seen = await asyncio.gather(*(place.run(working("process"), log) for _ in range(6)))
    assert len({words(one) for one in seen}) == 2


async def test_the_end_of_a_process_is_the_fault_of_the_row_that_ran_alone(
    opened: Opened, working: Working, log: LineLog
) -> None:
    place = await opened()
    with pytest.raises(EpisodeError, match="ended with exit code 3") as caught:
        await place.run(working("exit"), log)
    assert caught.value.cause is Cause.ROLLOUT_FAILED
    assert "out of cheese" in caught.value.stderr
    assert words(await place.run(working("fine"), log)) == "said fine"


async def test_rows_beside_one_that_ends_the_process_are_run_again(
    opened: Opened, working: Working, log: LineLog
) -> None:
    place = await opened()
    ended = await asyncio.gather(
        place.run(working("exit"), log), *(place.run(working("fine"), log) for _ in range(3)), return_exceptions=True
    )
    assert isinstance(ended[0], EpisodeError)
    assert [words(one) for one in ended[1:] if isinstance(one, RowOutcome)] == ["said fine"] * 3


async def test_a_refused_row_fails_in_the_words_of_the_server(opened: Opened, working: Working, log: LineLog) -> None:
    with pytest.raises(EpisodeError, match=r"status 422: .*no such prompt"):
        await (await opened()).run(working("refused"), log)


async def test_an_answer_that_is_not_http_fails_the_row(opened: Opened, working: Working, log: LineLog) -> None:
    with pytest.raises(EpisodeError, match="something else than HTTP"):
        await (await opened()).run(working("garbage"), log)


async def test_a_server_without_room_is_asked_again(opened: Opened, working: Working, log: LineLog) -> None:
    ended = await (await opened()).run(working("busy"), log)
    assert words(ended) == "said busy"
    assert ended.queued_s >= 0.05


async def test_the_first_of_contradicting_callbacks_counts(
    opened: Opened, working: Working, log: LineLog, notices: list[str]
) -> None:
    ended = await (await opened()).run(working("twice"), log)
    assert ended.graded
    assert len(notices) == 1
    assert "different completion callback" in notices[0]


async def test_a_cancelled_try_is_cancelled_at_the_server(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened()
    task = asyncio.create_task(place.run(working("never"), log))
    await place.run(working("fine"), log)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await cancelled(place, working("cancelled"), log) == 1


async def test_a_rollout_sees_only_what_is_declared(
    opened: Opened, working: Working, log: LineLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_OURS", "hidden")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    seen = json.loads(words(await (await opened({"GIVEN": "shown"})).run(working("variables"), log)))
    assert seen["GIVEN"] == "shown"
    assert "OF_OURS" not in seen
    assert "OPENAI_API_KEY" not in seen


async def test_a_log_keeps_lines_without_secrets(
    opened: Opened, working: Working, log: LineLog, tmp_path: Path
) -> None:
    place = await opened({"API_KEY": "open-sesame-1234"}, log_file=tmp_path / "logs" / "rollout.log")
    await place.run(working("secret"), log)
    await place.close()
    assert (tmp_path / "logs" / "rollout.log").read_text() == "the key is [redacted]\n"


async def test_artifacts_of_another_sdk_are_kept_and_nothing_else_is_left(
    opened: Opened, working: Working, log: LineLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    place = await opened()
    work = working("artifact")
    await place.run(work, log)
    await place.close()
    assert (work.artifacts / "note.txt").read_text() == "kept"
    assert list(temporary.iterdir()) == []


async def test_rows_beyond_the_capacity_wait_outside_of_the_server(
    opened: Opened, working: Working, log: LineLog
) -> None:
    place = await opened({"CAPACITY": "1"})
    never, fine = await asyncio.gather(
        place.run(working("never", workflow_seconds=0.3), log), place.run(working("fine"), log)
    )
    assert cause(never) is Cause.WORKFLOW_TIMEOUT
    assert fine.queued_s >= 0.3


async def test_the_capacity_is_what_the_server_says(opened: Opened) -> None:
    assert (await opened({"CAPACITY": "3"})).capacity == 3
    assert (await opened()).capacity is None


async def test_a_rollout_that_cannot_start_says_why(opened: Opened, rollout: Path) -> None:
    (rollout / "main.py").write_text("raise ImportError('no module called cheese')\n")
    with pytest.raises(RunAborted, match="no module called cheese"):
        await opened()


async def test_a_rollout_that_cannot_start_any_more_ends_the_run(
    opened: Opened, working: Working, log: LineLog, rollout: Path
) -> None:
    place = await opened()
    (rollout / "main.py").write_text("raise ImportError('no module called cheese')\n")
    with pytest.raises(EpisodeError, match="exit code 3"):
        await place.run(working("exit"), log)
    for _ in range(2):
        with pytest.raises(EpisodeError, match="no module called cheese"):
            await place.run(working("fine"), log)
    with pytest.raises(RunAborted, match="no module called cheese"):
        await place.run(working("fine"), log)


async def test_a_rollout_that_does_not_serve_is_not_waited_for_for_ever(opened: Opened, rollout: Path) -> None:
    (rollout / "main.py").write_text("import asyncio\nasyncio.run(asyncio.sleep(3600))\n")
    with pytest.raises(RunAborted, match="_OSMOSIS_ROLLOUT_PORT"):
        await opened(start_seconds=0.5)


async def test_an_entry_file_that_ends_is_asked_to_serve(opened: Opened, rollout: Path) -> None:
    (rollout / "main.py").write_text("if __name__ == '__main__':\n    pass\n")
    with pytest.raises(RunAborted, match=r"does it call uvicorn\.run"):
        await opened()


async def test_nothing_is_left_of_a_closed_place(opened: Opened, working: Working, log: LineLog) -> None:
    place = await opened()
    pid = int(words(await place.run(working("process"), log)))
    assert lives(pid)
    await place.close()
    assert not lives(pid)


async def test_an_entry_file_that_fails_is_shown_without_frames_of_ours(opened: Opened, rollout: Path) -> None:
    (rollout / "main.py").write_text("def load():\n    raise OSError('no weights')\nload()\n")
    with pytest.raises(RunAborted) as caught:
        await opened()
    assert "OSError: no weights" in str(caught.value)
    assert "in load" in str(caught.value)
    assert "run_entry_file.py" not in str(caught.value)


async def test_a_server_that_says_nonsense_about_its_health_is_quoted(opened: Opened, rollout: Path) -> None:
    text = (rollout / "main.py").read_text()
    (rollout / "main.py").write_text(text.replace('"/health":', '"/health":\n        return http(503, "marmalade")'))
    with pytest.raises(RunAborted, match=r"answered status 503 and '\"marmalade\"' instead of a healthy JSON object"):
        await opened(start_seconds=6.0)


def watched(rollout: Path) -> Content:
    return Content("rollout r", read_source(rollout).contents, lambda: read_source(rollout).contents)


async def test_a_rollout_that_is_edited_before_its_process_has_started_is_not_played(
    opened: Opened, rollout: Path
) -> None:
    content = watched(rollout)
    (rollout / "main.py").write_text((rollout / "main.py").read_text() + "\n# edited\n")
    with pytest.raises(EpisodeError, match=r"^main\.py of rollout r has changed since the run began"):
        await opened(content=content)


async def test_a_rollout_that_is_edited_while_its_process_starts_is_not_played(opened: Opened, rollout: Path) -> None:
    code = "from pathlib import Path\nPath(__file__).with_name('helper.py').write_text('REWARD = 1.0')\n"
    (rollout / "main.py").write_text(code + (rollout / "main.py").read_text())
    with pytest.raises(EpisodeError, match=r"^helper\.py of rollout r has changed since the run began"):
        await opened(content=watched(rollout))


async def test_no_process_is_started_again_from_an_edited_rollout(
    opened: Opened, working: Working, log: LineLog, rollout: Path
) -> None:
    place = await opened(content=watched(rollout))
    (rollout / "main.py").write_text((rollout / "main.py").read_text().replace("said", "shouted"))
    assert words(await place.run(working("fine"), log)) == "said fine"
    with pytest.raises(EpisodeError, match="exit code 3"):
        await place.run(working("exit"), log)
    with pytest.raises(EpisodeError, match=r"^main\.py of rollout r has changed") as caught:
        await place.run(working("fine"), log)
    assert caught.value.cause is Cause.CANCELLED
