"""The journal: nothing waits for the disk, everything arrives, nothing counts twice."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import event, update

from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, InfrastructureError, RunLeased
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Counts, LeaseOwner
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store
from mesocosm.store.journal import QUEUE_BYTES, QUEUE_ENTRIES, SqlJournal
from mesocosm.store.rows import json_text
from mesocosm.store.schema import runs
from mesocosm.store.writer import Writer

if TYPE_CHECKING:
    from tests.store.conftest import Samples

BROKEN = Failure(Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT, "it broke")


def nothing(*_: object) -> None:
    return


def opened(store: Store, run_id: str, committed: Callable[[Sequence[Episode]], None] = nothing) -> SqlJournal:
    return store.journal(run_id, store.leases.owner(), committed, nothing)


class Gate:
    """Keeps transactions of a store waiting at their beginning, as a slow disk does, and counts them."""

    def __init__(self, store: Store) -> None:
        self._open = threading.Event()
        self.reached = threading.Semaphore(0)
        self.transactions = 0
        self._engine = store.database.engine
        event.listen(self._engine, "begin", self._wait)

    def _wait(self, _connection: Any) -> None:
        self.transactions += 1
        self.reached.release()
        self._open.wait(60)

    def lift(self) -> None:
        """Let everything through."""
        self._open.set()


async def reached(gate: Gate) -> None:
    await asyncio.sleep(0)  # other tasks begin first; a thread that is done at once lets none, from Python 3.14 on
    assert await asyncio.to_thread(gate.reached.acquire, timeout=60)


async def test_what_was_drained_is_there_for_everybody(place: str, store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    entry = samples.entry(run.id)

    journal.write(entry)
    await journal.drain()

    other = open_store(place)
    assert other.episodes.get(entry.episode.id) == entry.episode
    assert len(list(other.traces.events(entry.episode.id))) == 4
    other.close()
    await journal.close()


async def test_counters_follow_the_episodes_and_whatever_they_used_counts(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    statuses = list(EpisodeStatus)
    entries = [samples.entry(run.id, index, status=statuses[index % 7]) for index in range(28)]

    await samples.write(store, run.id, entries)

    found = store.runs.get(run.id)
    assert found.counts == Counts(10, 4, 4, 4, 4, errors=4)
    assert found.usage == Usage(2800, 280, 112, 56, 7.0, 28)


async def test_one_unknown_price_makes_the_cost_of_the_run_unknown(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    unknown = samples.entry(run.id, 1, usage=Usage(1, cost_usd=None), status=EpisodeStatus.FAILED, failure=BROKEN)
    await samples.write(store, run.id, [samples.entry(run.id), unknown])
    assert store.runs.get(run.id).usage.cost_usd is None

    store.episodes.drop_failed(run.id)

    assert store.runs.get(run.id).usage.cost_usd is None


async def test_what_an_episode_used_stays_counted_when_its_process_dies(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    running = [samples.entry(run.id, index, status=EpisodeStatus.RUNNING) for index in range(2)]
    grown = msgspec.structs.replace(running[0].episode, usage=Usage(300, 30, cost_usd=0.5, calls=3))
    await samples.write(store, run.id, [*running, samples.entry(run.id, 2)])
    await samples.write(store, run.id, [Entry(grown)])
    spent = Usage(500, 50, 8, 4, 1.0, 5)
    assert store.runs.get(run.id).usage == spent
    store.leases.release(run.id, store.leases.owner())

    for _ in range(2):
        store.leases.take(run.id, store.leases.owner())
        assert store.runs.get(run.id).usage == spent
        store.leases.release(run.id, store.leases.owner())

    assert store.runs.get(run.id).counts.done == 1


async def test_writing_does_not_wait_for_the_disk(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    gate = Gate(store)

    for index in range(50):
        journal.write(samples.entry(run.id, index))
    drained = asyncio.create_task(journal.drain())
    await reached(gate)
    assert not drained.done()
    gate.lift()

    await drained
    assert store.runs.get(run.id).counts.completed == 50
    await journal.close()


async def test_what_piles_up_during_a_commit_shares_the_next_one(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = SqlJournal(Writer(store.database, run.id, store.leases.owner()), nothing, nothing, beat=1000)
    gate = Gate(store)
    journal.write(samples.entry(run.id, 0))
    await reached(gate)

    for index in range(1, 500):
        journal.write(samples.entry(run.id, index))
    gate.lift()
    await journal.drain()

    assert gate.transactions == 2
    await journal.close()


async def test_episodes_are_heard_of_once_they_are_durable(place: str, store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    other = open_store(place)
    heard: list[tuple[str, bool]] = []

    def committed(episodes: Sequence[Episode]) -> None:
        heard.extend((episode.id, other.episodes.get(episode.id) == episode) for episode in episodes)

    journal = opened(store, run.id, committed)
    entries = [samples.entry(run.id, index, status=status) for index, status in enumerate(EpisodeStatus)]
    for entry in entries:
        journal.write(entry)
    await journal.drain()

    finished = {"completed", "truncated", "timeout", "failed"}
    assert heard == [(entry.episode.id, True) for entry in entries if entry.episode.status in finished]
    await journal.close()
    other.close()


async def test_a_long_episode_is_written_in_pieces(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    going = samples.episode(run.id, status=EpisodeStatus.RUNNING, scores=(), ended_at=None)
    over = msgspec.structs.replace(going, status=EpisodeStatus.COMPLETED, ended_at=9.0, scores=(Score("a", 1.0),))
    conflicts: list[Any] = []
    event.listen(store.database.engine, "handle_error", conflicts.append)

    journal.write(Entry(msgspec.structs.replace(going), [samples.chunk()]))
    await journal.drain()
    assert store.episodes.get(going.id) == going
    assert store.runs.get(run.id).counts.done == 0
    journal.write(Entry(msgspec.structs.replace(going), [samples.chunk(1, 4)]))
    journal.write(Entry(over, [samples.chunk(2, 8)]))
    await journal.close()

    assert store.episodes.get(going.id) == over
    assert [event.seq for event in store.traces.events(going.id)] == list(range(12))
    assert store.runs.get(run.id).counts.completed == 1
    assert conflicts == []


async def test_a_final_episode_written_twice_counts_once(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    entry = samples.entry(run.id)
    changed = msgspec.structs.replace(entry.episode, scores=(Score("accuracy", 0.0),))

    journal.write(entry)
    await journal.drain()
    journal.write(Entry(changed, entry.chunks))
    await journal.close()

    assert store.runs.get(run.id).counts == Counts(10, completed=1, not_passed=1)
    assert store.runs.get(run.id).usage == entry.episode.usage
    assert store.episodes.get(entry.episode.id) == changed
    assert len(list(store.traces.events(entry.episode.id))) == 4


@pytest.mark.parametrize("apart", [True, False])
async def test_of_two_finished_episodes_of_one_key_the_first_stays(
    store: Store, samples: "Samples", *, apart: bool
) -> None:
    run = samples.held(store)
    heard: list[str] = []
    journal = opened(store, run.id, lambda episodes: heard.extend(episode.id for episode in episodes))
    first, second, third = samples.entry(run.id, 1), samples.entry(run.id, 1), samples.entry(run.id, 2)

    journal.write(first)
    if apart:
        await journal.drain()
    journal.write(second)
    journal.write(third)
    await journal.close()

    assert [episode.id for episode in store.episodes.list(run.id).items] == [first.episode.id, third.episode.id]
    assert store.runs.get(run.id).counts.completed == 2
    assert heard == [first.episode.id, third.episode.id]


@pytest.mark.parametrize("apart", [True, False])
async def test_an_episode_played_again_replaces_the_one_that_was_given_up(
    store: Store, samples: "Samples", *, apart: bool
) -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    lost, again = samples.entry(run.id, 1, status=EpisodeStatus.RUNNING, scores=()), samples.entry(run.id, 1)

    journal.write(lost)
    if apart:
        await journal.drain()
    journal.write(again)
    await journal.close()

    assert store.episodes.list(run.id).items == (again.episode,)
    assert store.runs.get(run.id).counts.completed == 1


async def test_room_is_given_until_the_queue_is_long(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    gate = Gate(store)
    entries = [Entry(samples.episode(run.id, index, scores=())) for index in range(QUEUE_ENTRIES)]

    for entry in entries:
        await journal.room()
        journal.write(entry)
    waiting = [asyncio.create_task(journal.room()) for _ in range(2)]
    await reached(gate)
    assert not any(task.done() for task in waiting)
    gate.lift()

    await asyncio.gather(*waiting)
    await journal.close()
    assert store.runs.get(run.id).counts.completed == QUEUE_ENTRIES


@pytest.mark.parametrize("kind", ["chunk", "blob"])
async def test_room_counts_bytes_as_well(store: Store, samples: "Samples", kind: str) -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    gate = Gate(store)
    data = bytes(QUEUE_BYTES)
    large = (
        Entry(samples.episode(run.id), [Chunk(0, 0, 0, 0, 0, data)])
        if kind == "chunk"
        else Entry(samples.episode(run.id), (), [Blob(digest_bytes(data), "text/plain", data)])
    )

    journal.write(large)
    waiting = asyncio.create_task(journal.room())
    await reached(gate)
    assert not waiting.done()
    gate.lift()

    await waiting
    await journal.close()


async def test_a_closed_journal_takes_nothing(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    await journal.close()
    await journal.close()

    with pytest.raises(InfrastructureError, match="is closed"):
        journal.write(samples.entry(run.id))


@pytest.mark.parametrize("times", [1, 2])
async def test_closing_writes_what_is_left_even_when_it_is_cancelled(
    store: Store, samples: "Samples", times: int
) -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    gate = Gate(store)
    journal.write(samples.entry(run.id))
    closing = asyncio.create_task(journal.close())
    await reached(gate)
    for _ in range(times):
        closing.cancel()
        for _ in range(5):  # it sees this one before the next
            await asyncio.sleep(0)
    assert not closing.done()
    gate.lift()
    with pytest.raises(asyncio.CancelledError):
        await closing

    assert store.runs.get(run.id).counts.completed == 1


async def test_a_journal_outlives_its_event_loop(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    gate: list[Gate] = []

    async def abandon() -> SqlJournal:
        journal = opened(store, run.id)
        gate.append(Gate(store))
        journal.write(samples.entry(run.id))
        waiting = asyncio.create_task(journal.drain())
        await reached(gate[0])
        waiting.cancel()
        return journal

    journal = await asyncio.to_thread(asyncio.run, abandon())
    gate[0].lift()
    await journal.close()

    assert store.runs.get(run.id).counts.completed == 1


class Beats(Writer):
    """A writer whose heartbeats can be waited for."""

    def __init__(self, store: Store, run_id: str) -> None:
        super().__init__(store.database, run_id, store.leases.owner())
        self.seen = threading.Semaphore(0)
        self.told = threading.Event()

    def beat(self) -> bool:
        stopped = super().beat()
        if stopped:
            self.told.set()
        self.seen.release()
        return stopped

    async def wait(self, count: int) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self.seen.acquire, timeout=60)


async def test_a_journal_without_work_keeps_its_heart_beating(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    before = store.runs.get(run.id).heartbeat_at
    writer = Beats(store, run.id)
    journal = SqlJournal(writer, nothing, nothing, beat=0.001)
    await writer.wait(3)
    await journal.close()

    after = store.runs.get(run.id).heartbeat_at
    assert before is not None
    assert after is not None
    assert after > before


async def test_a_request_to_stop_is_passed_on_once(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    writer = Beats(store, run.id)
    stops: list[int] = []
    journal = SqlJournal(writer, nothing, lambda: stops.append(1), beat=0.001)
    await writer.wait(3)
    assert stops == []

    store.runs.request_stop(run.id)
    assert await asyncio.to_thread(writer.told.wait, 60)
    writer.seen = threading.Semaphore(0)
    await writer.wait(5)
    await journal.close()

    assert stops == [1]


def test_a_journal_of_a_run_that_is_not_held_is_refused(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())

    with pytest.raises(RunLeased, match="nobody holds it now"):
        opened(store, run.id)


async def test_a_run_taken_over_is_written_no_further(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    journal.write(samples.entry(run.id, 0))
    await journal.drain()
    thief = LeaseOwner("elsewhere", 7, 1.0, "boot")
    taken = update(runs).where(runs.c.id == run.id).values(holder=json_text(thief))
    store.database.write(lambda connection: connection.execute(taken).rowcount)

    journal.write(samples.entry(run.id, 1))

    with pytest.raises(RunLeased, match="process 7 on elsewhere holds it now"):
        await journal.drain()
    for refused in (journal.room, journal.close):
        with pytest.raises(RunLeased):
            await refused()
    with pytest.raises(RunLeased):
        journal.write(samples.entry(run.id, 2))
    assert len(store.episodes.finished_keys(run.id)) == 1


async def test_a_run_deleted_meanwhile_is_named(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    store.database.write(lambda connection: connection.execute(runs.delete().where(runs.c.id == run.id)).rowcount)

    journal.write(samples.entry(run.id))

    with pytest.raises(InfrastructureError, match=f"run {run.id} was deleted"):
        await journal.close()


async def test_an_episode_that_cannot_be_stored_is_named(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = opened(store, run.id)
    good, bad = samples.entry(run.id, 0), samples.entry(run.id, 1, terminal_info={"what": object()})
    journal.write(good)
    await journal.drain()

    journal.write(bad)

    with pytest.raises(InfrastructureError, match=f"episode {bad.episode.id} has no stored form"):
        await journal.close()
    assert store.episodes.finished_keys(run.id) == {good.episode.key}


async def test_whoever_listens_and_breaks_ends_the_journal(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    def broken(_episodes: Sequence[Episode]) -> None:
        raise ZeroDivisionError("oops")

    journal = opened(store, run.id, broken)
    journal.write(samples.entry(run.id))

    with pytest.raises(InfrastructureError, match="ZeroDivisionError: oops"):
        await journal.drain()
    with pytest.raises(InfrastructureError, match="ZeroDivisionError: oops"):
        await journal.close()


@pytest.mark.parametrize("count", [1, 31, 100])
async def test_a_library_that_takes_few_parameters_gets_them_in_pieces(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("mesocosm.store.database._PARAMETERS", 999)
    run = samples.held(store)
    entries = [samples.entry(run.id, index) for index in range(count)]
    sizes: list[int] = []
    event.listen(
        store.database.engine,
        "before_cursor_execute",
        lambda *given: None if isinstance(given[3], list) else sizes.append(len(given[3])),
    )

    await samples.write(store, run.id, entries)

    assert store.episodes.list(run.id).items == tuple(entry.episode for entry in entries)
    assert max(sizes) <= 999


async def test_the_journal_of_one_run_leaves_another_alone(store: Store, samples: "Samples") -> None:
    held = [samples.held(store), samples.held(store)]
    journals = [opened(store, run.id) for run in held]
    for index in range(200):
        for run, journal in zip(held, journals, strict=True):
            journal.write(samples.entry(run.id, index))
    await asyncio.gather(*(journal.close() for journal in journals))

    assert [store.runs.get(run.id).counts.completed for run in held] == [200, 200]


def test_a_write_looks_for_rivals_by_their_tasks(
    sqlite_store: Store, samples: "Samples", planned: Callable[[Callable[[], object]], list[str]]
) -> None:
    run = samples.held(sqlite_store)

    async def written() -> None:
        journal = opened(sqlite_store, run.id)
        journal.write(samples.entry(run.id, 1))
        await journal.drain()
        journal.write(samples.entry(run.id, 1))
        await journal.close()

    steps = planned(lambda: asyncio.run(written()))
    assert any("(run_id=? AND task_digest=?)" in step for step in steps)
