"""Traces: any place of a long episode is opened by reading the chunks around it alone."""

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, update

from mesocosm.core.entry import Entry
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.store import Store
from mesocosm.store.schema import event_chunks

if TYPE_CHECKING:
    from tests.store.conftest import Samples

CHUNKS, SIZE = 40, 10


@pytest.fixture
async def episode_id(store: Store, samples: "Samples") -> str:
    """Return an episode of 400 events in 40 chunks, three events to a step."""
    run = samples.held(store)
    episode = samples.episode(run.id, status=EpisodeStatus.RUNNING)
    chunks = [samples.chunk(seq, seq * SIZE, SIZE, per_step=3) for seq in range(CHUNKS)]
    await samples.write(store, run.id, [Entry(episode, chunks)])
    return episode.id


@pytest.fixture
def read_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that fills with the numbers of the chunks that are read."""
    seen: list[int] = []
    unpack = store.traces._chunk

    def noted(episode_id: str, seq: int, *fields: Any) -> Any:
        seen.append(seq)
        return unpack(episode_id, seq, *fields)

    monkeypatch.setattr(store.traces, "_chunk", noted)
    return seen


def test_all_events_come_in_order(store: Store, episode_id: str) -> None:
    events = list(store.traces.events(episode_id))

    assert [event.seq for event in events] == list(range(CHUNKS * SIZE))
    assert events[7].payload == {"text": "line 7"}
    assert events[7].step == 2


@pytest.mark.parametrize(
    ("first", "limit", "expected"),
    [
        (0, 3, range(3)),
        (9, 2, range(9, 11)),
        (255, 10, range(255, 265)),
        (398, 10, range(398, 400)),
        (10, 10, range(10, 20)),
        (400, 10, range(0)),
        (5, 0, range(0)),
    ],
)
def test_any_part_reads_only_the_chunks_that_hold_it(
    store: Store, episode_id: str, read_chunks: list[int], first: int, limit: int, expected: range
) -> None:
    events = list(store.traces.events(episode_id, first=first, limit=limit))

    assert [event.seq for event in events] == list(expected)
    assert read_chunks == sorted({place // SIZE for place in expected})


def test_a_part_inside_one_chunk_takes_one_query(store: Store, episode_id: str) -> None:
    asked: list[str] = []
    engine = store.database.engine
    event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2]))

    list(store.traces.events(episode_id, first=255, limit=5))

    assert len([statement for statement in asked if statement.startswith("SELECT")]) == 1


def test_an_unfinished_reading_keeps_no_connection(store: Store, episode_id: str) -> None:
    readings = [store.traces.events(episode_id) for _ in range(40)]

    assert [next(reading).seq for reading in readings] == [0] * 40
    assert store.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_chunks_come_back_as_they_were_given(store: Store, samples: "Samples", episode_id: str) -> None:
    chunks = list(store.traces.chunks(episode_id))

    assert chunks == [samples.chunk(seq, seq * SIZE, SIZE, per_step=3) for seq in range(CHUNKS)]


async def test_an_episode_without_events_is_empty(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    episode = samples.episode(run.id)
    await samples.write(store, run.id, [Entry(episode)])

    assert list(store.traces.events(episode.id)) == []


def test_events_of_an_unknown_episode_are_refused(store: Store) -> None:
    with pytest.raises(UnknownName, match="there is no episode 'nothing'"):
        next(store.traces.events("nothing"))


@pytest.mark.parametrize("change", [{"data": b"nonsense"}, {"raw_bytes": 5}])
def test_damaged_events_are_named(store: Store, episode_id: str, change: dict[str, Any]) -> None:
    damaged = update(event_chunks).where(event_chunks.c.episode_id == episode_id, event_chunks.c.seq == 2)
    store.database.write(lambda connection: connection.execute(damaged.values(change)).rowcount)

    with pytest.raises(InfrastructureError, match=f"events 20 to 29 of episode {episode_id} .* are damaged"):
        list(store.traces.events(episode_id))


def test_stored_events_take_less_room_than_raw_ones(store: Store, samples: "Samples", episode_id: str) -> None:
    with store.database.once() as connection:
        sizes = connection.exec_driver_sql("SELECT sum(raw_bytes), sum(length(data)) FROM event_chunks").one()

    assert sizes[0] == sum(len(chunk.raw) for chunk in store.traces.chunks(episode_id))
    assert sizes[1] < sizes[0] / 3
