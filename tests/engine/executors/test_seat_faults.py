"""Runs with helpers while PostgreSQL, helpers and their machines fail."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.executors.conftest import Plays, helped
from tests.store.conftest import own_schema
from tests.store.test_store_faults import Server

from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import UsageError
from mesocosm.core.run import RunStatus

Soon = Callable[[Any], Any]
COUNT = 1500


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A PostgreSQL server of our own."""
    with own_schema():  # skips where there is none
        directory = Path(os.environ.get("TMPDIR", "/tmp")) / f"mesocosm-seats-{os.getpid()}"
        started = Server(directory)
        yield started
        started.call("stop")


def check(away: Any, run: Any, local: Any) -> None:
    """Nothing is lost, nothing is there twice, and the numbers are those of one process."""
    assert (run.status, run.counts.done) == (RunStatus.FINISHED, COUNT)
    keys = Counter(one.key for one in away.episodes(run) if one.status in FINISHED)
    assert (len(keys), set(keys.values())) == (COUNT, {1})
    assert away.store.verification.check_run(run.id).damages == ()
    assert run.metrics == local.metrics


@pytest.mark.postgres
async def test_a_server_that_restarts_again_and_again_in_a_run_with_helpers_loses_nothing(
    server: Server, here: Any, soon: Soon
) -> None:
    with helped(server.url) as (lab, helpers):
        away, restarting = Plays(lab, "queue", server.url, helpers), list[asyncio.Task[str]]()

        def restart(done: int) -> None:
            over = all(task.done() for task in restarting)
            if over and done >= 300 * (len(restarting) + 1) and len(restarting) < 3:
                restarting.append(asyncio.create_task(asyncio.to_thread(server.call, "restart")))

        away.notices.finished = restart
        run = await soon(away.run(away.spec(count=COUNT, parallel=6)))
        assert len(restarting) == 3
        await asyncio.gather(*restarting)
        check(away, run, await soon(here.run(here.spec(count=COUNT, parallel=6))))


@pytest.mark.postgres
async def test_frozen_helpers_lose_their_seats_and_count_for_nothing_later(here: Any, soon: Soon) -> None:
    with own_schema() as url, helped(url) as (lab, helpers):
        away, rng, frozen = Plays(lab, "queue", url, helpers), random.Random(3), list[int]()

        def freeze(done: int) -> None:
            if done >= 200 and not frozen:
                frozen.append(rng.choice(helpers.pids))
                os.kill(frozen[0], signal.SIGSTOP)
            elif done >= 1000:
                os.kill(frozen[0], signal.SIGCONT)

        away.notices.finished = freeze
        run = await soon(away.run(away.spec(count=COUNT, parallel=6)))
        check(away, run, await soon(here.run(here.spec(count=COUNT, parallel=6))))


async def test_a_run_in_a_file_is_refused_before_anything_is_stored(lab: Any) -> None:
    plays = Plays(lab, "queue", "")
    with pytest.raises(UsageError, match=r"the executor queue needs PostgreSQL, .*processes:N"):
        await plays.run(plays.spec())
    assert lab.store.runs.list().items == ()


@pytest.mark.parametrize("address", ["0", "-1", "two"])
def test_only_a_number_of_helpers_can_be_named(lab: Any, address: str) -> None:
    plays = Plays(lab, f"queue:{address}", "")
    with pytest.raises(UsageError, match="say how many helpers at most, as in queue:4"):
        asyncio.run(plays.run(plays.spec()))


@pytest.mark.postgres
async def test_helpers_do_not_make_a_run_more_parallel(soon: Soon) -> None:
    with own_schema() as url, helped(url) as (lab, helpers):
        plays = Plays(lab, "queue", url, helpers)
        run = await soon(plays.run(plays.spec(count=20, parallel=1)))
        assert run.counts.completed == 20
        assert plays.notices.with_words("played by 1 process")
