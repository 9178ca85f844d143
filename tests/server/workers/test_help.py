"""Workers that have nothing to do help the runs of others, and take whole runs first."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.run import RAN_ON, RunStatus

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("forked")]
QUEUE = {"MESOCOSM_EXECUTOR": "queue", "MESOCOSM_STEP_S": "600", "MESOCOSM_LEASE_S": "6"}
SEEDS = tuple(range(90))


@pytest.fixture
def team(open_platform: Callable[..., Any], empty_postgres: Callable[[], str]) -> Any:
    """A platform over PostgreSQL."""
    return open_platform(database_url=empty_postgres())


def helpers(team: Any) -> int:
    """Return how many processes help now."""
    return int(team.service.store.counts.take(60.0).helpers)


def helped(team: Any, world: Any, eventually: Callable[..., None]) -> tuple[str, Any, Any]:
    """Return a run of 90 episodes, four at a time, the worker that has it and one that helps: both play two of them."""
    world.held = set(SEEDS)
    run_id = team.order(world.url, SEEDS, parallel=4)
    first = team.worker(**QUEUE)
    eventually(lambda: len(world.resets) == 4, "the first episodes")
    helper = team.worker(**QUEUE)
    eventually(lambda: helpers(team) == 1, "help")
    beats = set[float]()

    def divided() -> bool:
        """After each heartbeat let the running episodes end, until the next ones are divided."""
        workers = team.service.store.workers.list()
        busy = [one.busy for one in workers]
        if busy != [2, 2] and (beat := max(one.heartbeat_at for one in workers)) not in beats:
            beats.add(beat)
            world.released.set()
            world.released.clear()
        return busy == [2, 2]

    eventually(divided, "the division")
    return run_id, first, helper


def test_an_idle_worker_helps_the_run_of_another(team: Any, world: Any, eventually: Callable[..., None]) -> None:
    run_id, _, _ = helped(team, world, eventually)

    world.released.set()
    eventually(lambda: team.order_state(run_id) == "ended", "the end")

    run = team.run(run_id)
    assert (run.status, team.seeds_of(run_id)) == (RunStatus.FINISHED, list(SEEDS))
    assert sorted(world.resets) == list(SEEDS)
    assert sum(run.provenance[RAN_ON].values()) == len(SEEDS)
    eventually(lambda: helpers(team) == 0, "the end of help")


def test_a_helper_takes_a_whole_run_that_arrives(
    team: Any, world: Any, elsewhere: Any, eventually: Callable[..., None]
) -> None:
    world.held = set(SEEDS)
    first = team.order(world.url, SEEDS, parallel=4)
    for _ in range(2):
        team.worker("--runs-at-once", "1", **QUEUE)
    eventually(lambda: helpers(team) == 1, "help")

    second = team.order(elsewhere.url, (1, 2), actor="user:2")
    eventually(lambda: team.order_state(second) == "ended", "the second run")

    assert team.run(second).status is RunStatus.FINISHED
    world.released.set()
    eventually(lambda: team.order_state(first) == "ended", "the first run")
    assert sorted(world.resets) == list(SEEDS)


def test_episodes_of_a_killed_helper_are_played_by_others(
    team: Any, world: Any, eventually: Callable[..., None], kill: Callable[[Any], None]
) -> None:
    run_id, _, helper = helped(team, world, eventually)

    kill(helper)
    world.released.set()
    eventually(lambda: team.order_state(run_id) == "ended", "the end")

    run = team.run(run_id)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, len(SEEDS))
    assert team.seeds_of(run_id) == list(SEEDS)


def test_a_helper_continues_the_run_of_a_killed_worker(
    team: Any, world: Any, eventually: Callable[..., None], kill: Callable[[Any], None]
) -> None:
    run_id, first, _ = helped(team, world, eventually)

    kill(first)
    world.released.set()
    eventually(lambda: team.order_state(run_id) == "ended", "the end")

    assert team.run(run_id).status is RunStatus.FINISHED
    assert team.seeds_of(run_id) == list(SEEDS)


def test_what_a_frozen_helper_reports_after_its_lease_is_not_counted(
    team: Any, world: Any, eventually: Callable[..., None]
) -> None:
    run_id, _, frozen = helped(team, world, eventually)

    frozen.send_signal(signal.SIGSTOP)
    eventually(lambda: helpers(team) == 0, "the end of its lease")
    world.released.set()
    eventually(lambda: team.order_state(run_id) == "ended", "the end")
    frozen.send_signal(signal.SIGCONT)

    run = team.run(run_id)
    assert (run.status, run.counts.done, team.seeds_of(run_id)) == (RunStatus.FINISHED, len(SEEDS), list(SEEDS))


def test_a_process_started_for_a_run_helps_it_and_ends_with_it(
    team: Any, world: Any, eventually: Callable[..., None]
) -> None:
    world.held = set(SEEDS)
    run_id = team.order(world.url, SEEDS, parallel=4)
    team.worker(**QUEUE)
    helper = team.worker("--run", run_id[:-4], "--once")

    eventually(lambda: helpers(team) == 1, "help")
    world.released.set()

    assert helper.wait(120) == 0
    eventually(lambda: team.order_state(run_id) == "ended", "the end")
    assert team.run(run_id).status is RunStatus.FINISHED


def test_a_run_in_a_file_cannot_be_helped(platform: Any, world: Any, tmp_path: Path) -> None:
    run_id = platform.order(world.url, (1,))
    helper = platform.worker("--run", run_id, "--once")
    assert helper.wait(120) == 2
