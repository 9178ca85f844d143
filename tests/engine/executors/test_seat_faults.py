"""Runs with helpers whose machines fail, and what is refused."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.executors.conftest import Plays, helped
from tests.store.conftest import own_schema

from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import UsageError
from mesocosm.core.run import RunStatus

pytestmark = pytest.mark.usefixtures("forked")

Soon = Callable[[Any], Any]
COUNT = 1500


def check(away: Any, run: Any, local: Any) -> None:
    """Nothing is lost, nothing is there twice, and the numbers are those of one process."""
    assert (run.status, run.counts.done) == (RunStatus.FINISHED, COUNT)
    keys = Counter(one.key for one in away.episodes(run) if one.status in FINISHED)
    assert (len(keys), set(keys.values())) == (COUNT, {1})
    assert away.store.verification.check_run(run.id).damages == ()
    assert run.metrics == local.metrics


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
