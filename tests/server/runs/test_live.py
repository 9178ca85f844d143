"""Live streams: real runs of other processes, seen through a real server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Counts, RunStatus
from mesocosm.server.permissions.visible_runs import all_runs
from mesocosm.server.runs.documents import run_summary
from mesocosm.server.runs.live import MOST_BEHIND, Listener, Live, Pace
from mesocosm.server.runs.running_metrics import RunningMetrics
from mesocosm.server.runs.watch import Change
from mesocosm.server.schemas.run import RunChange
from mesocosm.server.service import local_service
from mesocosm.server.serving import listen, new_server, url_of
from mesocosm.store import Store
from mesocosm.store.episodes import Episodes

pytestmark = pytest.mark.usefixtures("forked")

GAME = Path(__file__).parents[3] / "examples" / "word-game" / "benchanything.json"
PATIENCE = 120.0
"""Seconds until a test gives up."""
QUICK = Pace(look=0.02, heartbeat=0.05)


@contextmanager
def serving(store: Store) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve a store; yield the address, and what ends the server."""
    ready, listening = threading.Event(), listen(port=0)
    server = new_server(store, ready=ready.set)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()

    def end() -> None:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()

    try:
        assert ready.wait(PATIENCE)
        yield url_of(listening), end
    finally:
        end()


@pytest.fixture
def url(changing: Store) -> Iterator[str]:
    with serving(changing) as (address, _):
        yield address


@dataclass
class Runner:
    """A run that another process works on."""

    id: str
    process: "subprocess.Popen[str]"


@pytest.fixture
def play(changing: Store) -> Iterator[Callable[..., Runner]]:
    """Return what plays the word game in a process of its own; none outlives the test."""
    started = []

    def begin(*words: str) -> Runner:
        command = [sys.executable, "-m", "mesocosm", "run", "local", "--manifest", str(GAME), "--no-view"]
        place = ["--results-dir", str(Path(changing.place).parent), "--model", "builtin/random"]
        process = subprocess.Popen(
            [*command, *place, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stderr is not None
        said = next(line for line in process.stderr if line.startswith("run "))
        return Runner(said.split()[1], process)

    yield begin
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@contextmanager
def stream(address: str, path: str) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the documents of a stream."""
    with (
        httpx.Client(timeout=PATIENCE, trust_env=False) as client,
        client.stream("GET", f"{address}{path}") as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))


def states(documents: Iterator[dict[str, Any]], run_id: str) -> Iterator[dict[str, Any]]:
    """Yield the states of one run."""
    for document in documents:
        yield from (run for run in document["runs"] if run["id"] == run_id)


def test_a_run_of_another_process_is_seen_from_its_beginning_to_its_end(url: str, play: Callable[..., Runner]) -> None:
    with stream(url, "/api/live") as documents:
        runner = play("--episodes", "8", "--rpm", "1800")
        seen = []
        for run in states(documents, runner.id):
            seen.append(run)
            if run["state"] == "finished":
                break
    done = [run["counts"]["done"] for run in seen]
    assert done == sorted(done)
    assert done[-1] == 8
    assert 0 < next(count for count in done if count) < 8
    assert seen[-1]["primary"]["n_scored"] == 8


def test_a_score_is_told_while_the_run_goes_on(url: str, play: Callable[..., Runner]) -> None:
    runner = play("--episodes", "200", "--rpm", "1200")
    with stream(url, f"/api/runs/{runner.id}/live") as documents:
        run = next(run for run in states(documents, runner.id) if run["primary"] and run["primary"]["n_scored"])
    assert run["state"] == "running"
    assert run["primary"]["missing"]["not_run"] > 0


def test_a_run_whose_process_was_killed_is_interrupted(url: str, play: Callable[..., Runner]) -> None:
    runner = play("--episodes", "50", "--rpm", "60")
    with stream(url, f"/api/runs/{runner.id}/live") as documents:
        following = states(documents, runner.id)
        assert next(following)["state"] == "running"
        os.kill(runner.process.pid, signal.SIGKILL)
        assert next(run for run in following if run["state"] != "running")["state"] == "interrupted"


def test_a_new_listener_hears_of_what_changed_a_moment_ago(url: str, play: Callable[..., Runner]) -> None:
    runner = play("--episodes", "1")
    runner.process.wait(PATIENCE)
    with stream(url, "/api/live") as documents:
        assert next(states(documents, runner.id))["state"] == "finished"


def test_new_tags_and_a_deletion_are_told(url: str, changing: Store) -> None:
    run = changing.runs.list().items[0]
    with stream(url, f"/api/runs/{run.id}/live") as documents:
        assert next(documents)["runs"][0]["tags"] == []
        changing.runs.set_tags(run.id, ["kept"])
        assert next(documents)["runs"][0]["tags"] == ["kept"]
        changing.runs.delete(run.id)
        assert next(document for document in documents if document["deleted"])["deleted"] == [run.id]


def test_an_unknown_run_is_not_found(url: str) -> None:
    answer = httpx.get(f"{url}/api/runs/nothing/live", timeout=PATIENCE, trust_env=False)
    assert answer.status_code == 404


def test_the_end_of_the_server_ends_its_streams_in_order(changing: Store) -> None:
    run = changing.runs.list().items[0]
    with serving(changing) as (address, end), stream(address, f"/api/runs/{run.id}/live") as documents:
        next(documents)
        end()
        assert list(documents) == []


@pytest.fixture
async def live(changing: Store) -> AsyncIterator[Live]:
    service = local_service(changing)
    opened = Live(lambda: service, QUICK)
    yield opened
    opened.close()


def pollers() -> int:
    return sum(task.get_name() == "watching the store" for task in asyncio.all_tasks())


async def heard(changes: AsyncIterator[RunChange | None], run_id: str) -> Any:
    """Return the next state of a run."""
    async with asyncio.timeout(PATIENCE):
        async for change in changes:
            for run in change.runs if change else ():
                if run.id == run_id:
                    return run
    raise AssertionError("the stream is over")


async def test_one_poller_serves_all_clients_and_goes_with_the_last(live: Live, changing: Store) -> None:
    run_id = changing.runs.list().items[0].id
    async with aclosing(live.changes(run_id)) as one:
        await heard(one, run_id)
        async with aclosing(live.changes(run_id)) as other:
            await heard(other, run_id)
            assert (live.listeners, pollers()) == (2, 1)
            await asyncio.to_thread(changing.runs.set_tags, run_id, ["both"])
            assert [run.tags for run in await asyncio.gather(heard(one, run_id), heard(other, run_id))] == [
                ["both"]
            ] * 2
        assert (live.listeners, pollers()) == (1, 1)
    await asyncio.sleep(0)
    assert (live.listeners, pollers()) == (0, 0)


async def test_silence_is_broken_from_time_to_time(live: Live, changing: Store) -> None:
    run_id = changing.runs.list().items[0].id
    async with aclosing(live.changes(run_id)) as changes, asyncio.timeout(PATIENCE):
        await heard(changes, run_id)
        assert await anext(changes) is None


async def test_a_client_that_leaves_in_the_middle_leaves_nothing_behind(live: Live, changing: Store) -> None:
    run_id = changing.runs.list().items[0].id
    changes = live.changes(run_id)
    await heard(changes, run_id)
    waiting = asyncio.create_task(heard(changes, run_id))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(0)
    assert (live.listeners, pollers()) == (0, 0)


async def test_a_store_that_appears_is_watched_instead_of_none(store: Store, changing: Store, records: Any) -> None:
    place = [local_service(store)]
    live = Live(lambda: place[0], QUICK)
    async with aclosing(live.changes()) as changes, asyncio.timeout(PATIENCE):
        while (await anext(changes)) is not None:
            pass
        place[0] = local_service(changing)
        while changes is not None:
            run = await records.write(changing, records.run(), [])
            change = await anext(changes)
            if change and run.id in {told.id for told in change.runs}:
                break
    live.close()


async def test_a_closed_server_takes_no_new_listeners(live: Live) -> None:
    live.close()
    assert [change async for change in live.changes()] == []


async def test_an_unknown_run_is_refused_and_nothing_stays(live: Live) -> None:
    with pytest.raises(UnknownName):
        await anext(live.changes("nothing"))
    assert live.listeners == 0


async def test_a_slow_listener_gets_the_newest_state_only(records: Any) -> None:
    listener, run = Listener(None), records.run()
    for done in range(5):
        listener.tell(Change([run_summary(msgspec.structs.replace(run, counts=Counts(5, done)))]))
    change = await listener.next(1)
    assert change is not None
    assert [told.counts.done for told in change.runs] == [4]
    assert await listener.next(0.01) is None


async def test_a_listener_that_is_too_far_behind_is_let_go(records: Any) -> None:
    listener = Listener(None)
    listener.tell(Change([], [str(number) for number in range(MOST_BEHIND + 1)]))
    assert listener.over


async def test_a_listener_to_one_run_hears_of_no_other(records: Any) -> None:
    listener = Listener("mine")
    listener.tell(Change([run_summary(records.run(id="other"))], ["another"]))
    assert await listener.next(0.01) is None


async def test_metrics_so_far_take_a_twentieth_of_the_time_at_most(changing: Store) -> None:
    now = [0.0]

    class Slow(Episodes):
        def score_rows(self, run_id: str, name: str = "") -> Any:
            now[0] += 2.0
            return super().score_rows(run_id, name)

    slow = Store(changing.database)
    slow.episodes = Slow(changing.database)
    scores = RunningMetrics(all_runs(local_service(slow)), lambda: now[0])
    run = msgspec.structs.replace(changing.runs.list().items[0], status=RunStatus.RUNNING)
    measured = 0
    for _second in range(100):
        counts = msgspec.structs.replace(run.counts, planned=run.counts.planned + int(now[0]))
        scores.of(msgspec.structs.replace(run, counts=msgspec.structs.replace(counts, completed=int(now[0]) + 1)))
        scores._pool.submit(lambda: None).result(PATIENCE)
        measured += len(scores.fresh())
        now[0] += 1.0
    scores.close()
    assert 2 <= measured <= 3
