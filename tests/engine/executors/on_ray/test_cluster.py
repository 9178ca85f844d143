"""The executor `ray` on a cluster with several nodes: `make test-ray`."""

import asyncio
import copy
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ray_cluster import RayCluster, processes_of_actors

import mesocosm
from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.run import RunStatus
from mesocosm.engine import session
from mesocosm.engine.executors import ray as executor
from mesocosm.engine.executors.ray import RayActors, RayLink

KILLS = int(os.environ.get("MESOCOSM_TEST_KILLS", "12"))
Soon = Callable[[Any], Any]


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[RayLink]:
    """Return the connections to actors, as they are made."""
    found: list[RayLink] = []
    connect = RayActors.connect

    async def noted(source: RayActors) -> RayLink:
        found.append(await connect(source))
        return found[-1]

    monkeypatch.setattr(RayActors, "connect", noted)
    return found


@pytest.fixture
def nodes(cluster: RayCluster) -> Iterator[RayCluster]:
    """Return the cluster, which has two nodes again at the end."""
    yield cluster
    while len(cluster.nodes) > 2:
        cluster.remove(cluster.nodes[-1])
    while len(cluster.nodes) < 2:
        cluster.add()


async def test_traces_say_on_which_node_an_episode_was_played(away: Any, soon: Soon, links: list[RayLink]) -> None:
    run = await soon(away.run(away.spec(count=20)))
    firsts = [next(iter(away.store.traces.events(one.id))) for one in away.episodes(run)]
    assert {first.payload["worker"] for first in firsts} <= {link.name for link in links}
    assert all(link.name.endswith(f" on {socket.gethostname()}") for link in links)


async def test_a_process_that_is_told_to_end_has_as_long_as_it_needs(away: Any, soon: Soon) -> None:
    heard, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, heard.set)
    away.notices.finished = lambda done: os.kill(os.getpid(), signal.SIGTERM) if done == 1 else None
    try:
        await soon(away.run(away.spec(count=5)))
        await soon(heard.wait())
        # Ray's handler has SIGALRM abort the process after three seconds.
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        loop.remove_signal_handler(signal.SIGTERM)


async def test_an_actor_that_is_ended_by_ray_is_replaced_and_the_reason_is_told(
    away: Any, here: Any, soon: Soon, links: list[RayLink]
) -> None:
    import ray

    def kill(done: int) -> None:
        if done == 20:
            ray.kill(links[0]._actor)

    away.notices.finished = kill
    run = await soon(away.run(away.spec(count=600)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 600)
    assert away.notices.with_words("is gone: it was ended by ray.kill")
    assert run.metrics == (await soon(here.run(here.spec(count=600)))).metrics


async def test_when_a_node_is_lost_the_others_finish_the_run(
    away: Any, here: Any, soon: Soon, nodes: RayCluster, links: list[RayLink]
) -> None:
    both: list[int] = []

    def remove(done: int) -> None:
        both.extend([done] if len(links) == 2 and not both else [])
        if both and done == both[0] + 1000:
            nodes.remove(nodes.nodes[0])

    away.notices.finished = remove
    run = await soon(away.run(away.spec(count=6000)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 6000)
    assert away.notices.with_words("is gone: ")
    assert away.store.verification.check_run(run.id).damages == ()
    assert run.metrics == (await soon(here.run(here.spec(count=6000)))).metrics


async def test_without_a_number_there_is_an_actor_for_each_core_also_for_those_of_new_nodes(
    away: Any, soon: Soon, nodes: RayCluster, links: list[RayLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "GROWTH_S", 0.1)
    away.executor = "ray"
    seen: list[int] = []

    def add(done: int) -> None:
        if done == 10:
            seen.append(len(links))
            nodes.add()
        if len(links) == 3:
            away.control.stop("enough", 0.0)

    away.notices.finished = add
    await soon(away.run(away.spec(count=200_000)))
    assert seen[0] <= 2
    assert len(links) == 3


async def test_many_losses_of_actors_and_nodes_change_no_number(
    away: Any, here: Any, soon: Soon, nodes: RayCluster, links: list[RayLink]
) -> None:
    """Kills at random moments: the process, by Ray, the node. MESOCOSM_TEST_KILLS says how many."""
    import ray

    rng, done_at = random.Random(15), [0]
    for _ in range(KILLS):
        done_at.append(done_at[-1] + rng.randint(30, 120))
    kinds = Counter[str]()

    def kill(done: int) -> None:
        if len(done_at) == 1 or done < done_at[1] or not (alive := processes_of_actors()):
            return
        done_at.pop(0)
        # A new node takes longer to start than a new actor.
        kind = rng.choice(("process", "process", "actor", "node"))
        kinds[kind] += 1
        if kind == "process":
            os.kill(rng.choice(sorted(alive)), signal.SIGKILL)
        elif kind == "actor":
            ray.kill(rng.choice(links[-2:])._actor)
        else:
            nodes.add()
            nodes.remove(nodes.nodes[rng.randrange(2)])

    count = 130 * KILLS
    away.notices.finished = kill
    run = await asyncio.wait_for(away.run(away.spec(count=count, parallel=6)), 120 + 20 * KILLS)
    assert sum(kinds.values()) == KILLS
    assert (run.status, run.counts.done) == (RunStatus.FINISHED, count)
    keys = Counter(one.key for one in away.episodes(run) if one.status in FINISHED)
    assert (len(keys), set(keys.values())) == (count, {1})
    assert away.store.verification.check_run(run.id).damages == ()
    assert run.metrics == (await soon(here.run(here.spec(count=count, parallel=6)))).metrics


async def test_a_key_that_a_node_lacks_is_named_with_the_node_and_stays_here(
    away: Any, soon: Soon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = f"sk-of-the-session-{new_id()}"
    monkeypatch.setenv("OPENROUTER_API_KEY", key)
    said = f"OPENROUTER_API_KEY is set here, but not on the node {socket.gethostname()}"
    with pytest.raises(UsageError, match=said):
        await soon(away.run(away.spec(model="openrouter/some/model", count=5, words=True), checked=True))
    assert not _logs_with(key)


async def test_another_version_of_mesocosm_on_a_node_is_refused(
    away: Any, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesocosm, "__version__", "99.0")
    with pytest.raises(UsageError, match=r"mesocosm is .* on the node .*, and 99\.0 here"):
        await soon(away.run(away.spec(count=5)))


async def test_a_secret_on_the_command_line_is_not_shown_to_the_cluster(
    away: Any, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["mesocosm", "run", "--database-url", "postgresql://u:opensesame@h/d"])
    with pytest.raises(UsageError, match="MESOCOSM_DATABASE_URL"):
        await soon(away.run(away.spec(count=5), secrets=["opensesame"]))


async def test_a_cluster_that_is_not_there_leaves_the_run_to_be_resumed(away: Any, soon: Soon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    away.executor = f"ray:127.0.0.1:{port}"
    with pytest.raises(InfrastructureError, match=f"the Ray cluster 127.0.0.1:{port} cannot be reached"):
        await soon(away.run(away.spec(count=5)))
    run = away.lab.only_run()
    assert (run.counts.done, run.counts.pending) == (0, 5)


async def test_runs_at_the_same_time_share_the_connection_and_another_cluster_is_refused(
    away: Any, lab: Any, soon: Soon, cluster: RayCluster, links: list[RayLink]
) -> None:
    away.executor = "ray:auto,actors=1"
    first = asyncio.create_task(away.run(away.spec(count=100_000)))
    await lab.until(lambda: links)
    same, other = copy.copy(away), copy.copy(away)
    # A control stops one session.
    same.control, other.control = session.Control(), session.Control()
    same.executor, other.executor = f"ray:{cluster.address},actors=1", "ray:local"
    assert (await soon(same.run(same.spec(count=5)))).status is RunStatus.FINISHED
    with pytest.raises(UsageError, match="Ray allows one at a time"):
        await soon(other.run(other.spec(count=6)))
    away.control.stop("enough", 0.0)
    await soon(first)


def _logs_with(text: str) -> list[Path]:
    logs = Path("/tmp/ray/session_latest/logs").resolve()
    return [place for place in logs.rglob("*") if place.is_file() and text.encode() in place.read_bytes()]


def _command(folder: Path, name: str, *more: str) -> "subprocess.Popen[str]":
    manifest = Path(__file__).parents[4] / "examples/grid-world/benchanything.json"
    words = [
        "run",
        "local",
        "--manifest",
        str(manifest),
        "--model",
        "builtin/random",
        "--executor",
        name,
        "--json",
        *more,
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "mesocosm", *words, "--results-dir", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_cluster_of_ones_own_ends_with_the_command_and_its_output_is_one_document(tmp_path: Path) -> None:
    told = _command(tmp_path, "ray:local,actors=1")
    out, err = told.communicate(timeout=180)
    assert told.returncode == 0, err
    assert json.loads(out)
    assert not processes_of_actors()
    assert not re.search(r"raylet|worker\.py|Token authentication|docs\.ray\.io", err), err


def test_what_ray_says_about_a_lost_actor_is_not_in_the_output(tmp_path: Path, cluster: RayCluster) -> None:
    told = _command(tmp_path, "ray:auto,actors=1", "--episodes", "40")
    while told.poll() is None and not (actors := processes_of_actors()):
        continue
    os.kill(min(actors), signal.SIGKILL)
    out, err = told.communicate(timeout=180)
    assert told.returncode == 0, err
    assert json.loads(out)
    assert "raylet" not in err
