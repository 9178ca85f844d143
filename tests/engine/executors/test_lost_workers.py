"""Workers that end at any moment: nothing is lost, nothing counts twice."""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.run import Limits, RunStatus
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("forked")

Soon = Callable[[Any], Any]


async def test_an_episode_that_ends_every_worker_fails_and_the_others_are_played(away: Any, soon: Soon) -> None:
    run = await soon(away.run(away.spec("Deadly", count=40)))
    failed = [one for one in away.episodes(run) if one.status is EpisodeStatus.FAILED]
    assert [one.seed for one in failed] == [7]
    assert failed[0].failure.cause is Cause.ENVIRONMENT_ERROR
    assert any(words in failed[0].failure.message for words in away.killed)
    assert run.counts.completed == 39


async def test_a_worker_that_ends_once_is_replaced_in_the_same_run(
    away: Any, here: Any, soon: Soon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_TEST_ONCE", str(tmp_path / "once"))
    run = await soon(away.run(away.spec("Deadly", count=40)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 40)
    assert away.notices.with_words("are played again")
    local = await soon(here.run(here.spec("Deadly", count=40)))
    assert run.metrics == local.metrics


async def test_a_run_whose_workers_are_killed_at_random_is_complete_and_has_the_same_numbers(
    away: Any, here: Any, soon: Soon
) -> None:
    """Kills, each after a random number of finished episodes."""
    rng, ends = random.Random(15), list[int]()
    # A helper that is killed keeps its seat until its lease ends; tests of seats kill more of them.
    for _ in range(2 if away.executor.startswith("queue") else 10):
        ends.append(rng.randint(20, 180) + (ends[-1] if ends else 0))

    def kill(done: int) -> None:
        if ends and done >= ends[0] and (workers := sorted(away.workers())):
            ends.pop(0)
            os.kill(rng.choice(workers), signal.SIGKILL)

    away.notices.finished = kill
    run = await soon(away.run(away.spec(count=2500, parallel=6)))
    assert not ends
    assert (run.status, run.counts.done) == (RunStatus.FINISHED, 2500)
    keys = Counter(one.key for one in away.episodes(run) if one.status in FINISHED)
    assert len(keys) == 2500
    assert set(keys.values()) == {1}
    local = await soon(here.run(here.spec(count=2500, parallel=6)))
    assert run.metrics == local.metrics


async def test_workers_end_with_the_session(away: Any, soon: Soon) -> None:
    before = away.workers()
    await soon(away.run(away.spec(count=30)))
    helpers = set() if away.helpers is None else set(away.helpers.pids)
    await away.lab.until(lambda: away.workers() - helpers <= before)


async def test_a_worker_that_cannot_open_the_parts_ends_the_run_with_the_reason(
    away: Any, lab: Any, soon: Soon
) -> None:
    # Registered in this process alone.
    spec = lab.spec(lab.model("left"), count=5)
    run = await soon(away.run(spec))
    assert run.status is RunStatus.FAILED
    assert "no model provider is called" in run.error
    assert run.counts.pending == 5


async def test_a_session_that_is_killed_again_and_again_loses_nothing_and_leaves_no_worker(
    away: Any, here: Any, soon: Soon
) -> None:
    """Two kills, each after a random number of further episodes; then it plays to the end."""
    rng, run_id, count = random.Random(5), "", 1500
    if away.helpers is not None:
        away.helpers.start()
    for _ in range(2):
        process = away.in_another_process("Brief", count, run_id)
        target = rng.randint(20, 200) + (away.store.runs.get(run_id).counts.done if run_id else 0)
        await away.lab.until(lambda: any(run.counts.done >= target for run in away.store.runs.list().items))  # noqa: B023
        workers = away.workers(process.pid)
        process.kill()
        process.wait()
        assert workers
        await away.lab.until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers))  # noqa: B023
        run_id = away.lab.only_run().id
    finished = {one.key: one.id for one in away.episodes(away.lab.only_run()) if one.status in FINISHED}
    last = away.in_another_process("Brief", count, run_id)
    assert last.wait() == 0
    run = away.lab.only_run()
    assert (run.status, run.counts.done) == (RunStatus.FINISHED, count)
    kept = {one.key: one.id for one in away.episodes(run)}
    assert finished.items() <= kept.items()
    assert away.store.verification.check_run(run.id).damages == ()
    local = await soon(here.run(here.spec(count=count, parallel=6)))
    assert run.metrics == local.metrics


async def test_a_budget_is_kept_although_nobody_knows_what_killed_workers_spent_last(
    away: Any, soon: Soon, served: ModelServer
) -> None:
    """By at most 2 % and a call of each worker; it was played by two at a time, and by as many more as were killed."""
    rng, budget, kills = random.Random(7), 30_000, 2 if away.executor == "queue" else 8
    ends = [rng.randint(10, 25) for _ in range(kills)]

    def kill(done: int) -> None:
        if ends and done >= ends[0] and (workers := sorted(away.workers())):
            os.kill(rng.choice(workers), signal.SIGKILL)
            del ends[0]
            ends[:1] = [done + end for end in ends[:1]]

    away.notices.finished = kill
    model, limits = f"openai/m@{served.openai_url}", Limits(run_tokens=budget)
    run = await soon(away.run(away.spec("Paced", model=model, count=20_000, parallel=2, limits=limits, words=True)))
    assert not ends
    assert run.status is RunStatus.STOPPED
    call = run.usage.total / run.usage.calls
    assert budget * 0.98 <= served.served * call <= budget * 1.02 + (2 + kills) * call
