"""What every executor promises, and that it is the same as in one process."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, UnknownName, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("forked")

Soon = Callable[[Any], Any]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which every finished play of an episode is noted."""
    path = tmp_path / "notes"
    monkeypatch.setenv("MESOCOSM_TEST_NOTES", str(path))
    return path


async def test_numbers_are_bit_for_bit_those_of_one_process(plays: Any, here: Any, soon: Soon) -> None:
    there = await soon(plays.run(plays.spec(count=60)))
    local = await soon(here.run(here.spec(count=60)))
    assert (there.status, there.counts) == (RunStatus.FINISHED, local.counts)
    assert there.metrics == local.metrics
    assert [one.scores for one in plays.episodes(there)] == [one.scores for one in here.episodes(local)]


async def test_a_run_counts_its_episodes_by_machine_also_over_sessions(away: Any, soon: Soon) -> None:
    away.notices.finished = lambda done: away.control.stop("enough", 60.0)
    run = await soon(away.run(away.spec(count=200)))
    assert run.ran_on == {socket.gethostname(): run.counts.done}
    resumed = await soon(away.resume(run.id))
    assert resumed.ran_on == {socket.gethostname(): 200}


async def test_every_episode_has_its_whole_trace(plays: Any, here: Any, soon: Soon) -> None:
    there = await soon(plays.run(plays.spec(count=8)))
    local = await soon(here.run(here.spec(count=8)))
    for one, other in zip(plays.episodes(there), here.episodes(local), strict=True):
        assert plays.trace(one) == here.trace(other)
        assert one.events == len(plays.trace(one))


async def test_a_stored_run_passes_the_check_of_its_checksums(plays: Any, soon: Soon) -> None:
    run = await soon(plays.run(plays.spec(count=30)))
    assert plays.store.verification.check_run(run.id).damages == ()


async def test_an_episode_that_fails_leaves_the_others(plays: Any, soon: Soon) -> None:
    run = await soon(plays.run(plays.spec("Failing", count=20)))
    assert (run.counts.completed, run.counts.failed) == (10, 10)
    failed = [one for one in plays.episodes(run) if one.status is EpisodeStatus.FAILED]
    assert {one.failure.cause for one in failed} == {Cause.ENVIRONMENT_ERROR}


async def test_a_stopped_run_is_finished_by_resuming_and_plays_nothing_twice(
    plays: Any, soon: Soon, notes: Path
) -> None:
    plays.notices.finished = lambda done: plays.control.stop("enough", 60.0)
    run = await soon(plays.run(plays.spec(count=400)))
    assert (run.status, run.error) == (RunStatus.STOPPED, "enough")
    assert 0 < run.counts.done < 400
    plays.notices.finished = lambda done: None
    resumed = await soon(plays.resume(run.id))
    assert (resumed.status, resumed.counts.done) == (RunStatus.FINISHED, 400)
    assert _noted(notes) == Counter(str(seed) for seed in range(400))


async def test_a_budget_of_tokens_is_overspent_by_one_call_of_each_worker_at_most(
    plays: Any, soon: Soon, served: ModelServer
) -> None:
    spec = plays.spec(model=f"openai/m@{served.openai_url}", count=400, limits=Limits(run_tokens=2000), words=True)
    run = await soon(plays.run(spec))
    call = run.usage.total / run.usage.calls
    assert run.status is RunStatus.STOPPED
    assert "2000 tokens" in run.error
    # In one process, calls in progress are not foreseen.
    workers = spec.parallel if plays.executor == "local" else 2
    assert 2000 <= run.usage.total <= 2000 + workers * call


async def test_a_refused_key_ends_the_run_and_says_so(plays: Any, soon: Soon, served: ModelServer) -> None:
    served.answer = "left"
    spec = plays.spec(model=f"openai/m@{served.openai_url}", count=50, words=True)
    served.key = "another"
    run = await soon(plays.run(spec, checked=True))
    assert run.status is RunStatus.FAILED
    assert "401" in run.error
    assert run.counts.done == 0


async def test_the_name_with_which_the_server_answers_is_recorded(plays: Any, soon: Soon, served: ModelServer) -> None:
    run = await soon(plays.run(plays.spec(model=f"openai/m@{served.openai_url}", count=6, words=True)))
    assert run.provenance["server"]["served"]


async def test_calls_that_fail_for_a_moment_are_repeated(plays: Any, soon: Soon, served: ModelServer) -> None:
    served._faults = iter([None, Fault(status=503), Fault(status=429), None, Fault(status=500)])
    run = await soon(plays.run(plays.spec(model=f"openai/m@{served.openai_url}", count=30, words=True)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 30)
    assert sum(one.retries for one in plays.episodes(run)) == 3


async def test_a_server_that_never_answers_stops_the_run_with_the_rest_pending(
    plays: Any, soon: Soon, served: ModelServer
) -> None:
    served._faults = iter(Fault(status=503) for _ in range(100_000))
    limits = Limits(outage_seconds=0.3, retries=1)
    spec = plays.spec(model=f"openai/m@{served.openai_url}", count=30, limits=limits, words=True)
    run = await soon(plays.run(spec, checked=True))
    assert run.status is RunStatus.STOPPED
    assert "has not answered" in run.error
    assert run.counts.pending == 30


async def test_an_outage_that_every_worker_meets_is_told_once(plays: Any, soon: Soon, served: ModelServer) -> None:
    served._faults = iter(Fault(status=503) for _ in range(80))
    limits = Limits(outage_seconds=100, retries=1)
    spec = plays.spec(model=f"openai/m@{served.openai_url}", count=60, limits=limits, words=True, parallel=8)
    run = await soon(plays.run(spec, checked=True))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 60)
    assert len(plays.notices.with_words("has not answered since")) == 1


async def test_events_of_a_running_episode_can_be_read_before_it_ends(
    plays: Any, soon: Soon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    monkeypatch.setenv("MESOCOSM_TEST_GATE", str(gate))
    task = asyncio.create_task(plays.run(plays.spec("Halting", count=6)))

    def halted() -> bool:
        run = next(iter(plays.store.runs.list().items), None)
        found = [one for one in plays.episodes(run) if one.seed == 3] if run is not None else []
        return any((Kind.ACTION, 2) in plays.trace(one) for one in found)

    await plays.lab.until(halted)
    gate.touch()
    run = await soon(task)
    assert run.status is RunStatus.FINISHED


async def test_what_only_the_session_hides_is_in_no_record(
    plays: Any, soon: Soon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = f"known-to-the-session-{new_id()}"
    (tmp_path / "told").write_text(hidden)
    monkeypatch.setenv("MESOCOSM_TEST_TOLD", str(tmp_path / "told"))
    run = await soon(plays.run(plays.spec("Telling", count=4), secrets=[hidden]))
    assert run.status is RunStatus.FINISHED
    plays.store.close()
    assert _files_with(tmp_path, hidden) == ["told"]


async def test_a_cancelled_session_keeps_what_is_finished(plays: Any, soon: Soon) -> None:
    task = asyncio.create_task(plays.run(plays.spec(count=5000)))
    await plays.lab.until(lambda: any(run.counts.done for run in plays.store.runs.list().items))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)
    run: Run = plays.lab.only_run()
    assert run.status is RunStatus.STOPPED
    assert 0 < run.counts.done < 5000


async def test_a_second_stop_that_leaves_no_time_ends_what_is_running(
    plays: Any, soon: Soon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_TEST_GATE", str(tmp_path / "never"))

    def stop(done: int) -> None:
        if done == 5:
            plays.control.stop("first", 3600.0)
            plays.control.stop("second", 0.0)

    plays.notices.finished = stop
    run = await soon(plays.run(plays.spec("Halting", count=6)))
    assert (run.status, run.error, run.counts.done) == (RunStatus.STOPPED, "first", 5)


@pytest.mark.parametrize("name", ["locl", "processes:0", "processes:many", "local:1"])
async def test_an_executor_that_cannot_be_is_refused_before_anything_is_stored(here: Any, name: str) -> None:
    here.executor = name
    with pytest.raises((UsageError, UnknownName)):
        await here.run(here.spec())
    assert not here.store.runs.list().items


def _files_with(folder: Path, text: str) -> list[str]:
    return [place.name for place in folder.iterdir() if text.encode() in place.read_bytes()]


def _noted(notes: Path) -> Counter[str]:
    return Counter(notes.read_text().split())
