"""What is stored of a run and was changed afterwards is told, and what was meant to change is not."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from sqlalchemy import select, text, update

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.score import Score
from mesocosm.interop.bundle import Bundle, write_bundle
from mesocosm.store import Store, open_store
from mesocosm.store.schema import event_chunks
from mesocosm.store.traces import compress

if TYPE_CHECKING:
    from tests.store.conftest import Samples


async def recorded(store: Store, samples: "Samples", count: int = 5) -> str:
    """Store a run of so many episodes and return its id."""
    run = samples.held(store)
    journal = store.journal(run.id, store.leases.owner(), lambda _: None, lambda: None)
    for index in range(count):
        journal.write(samples.entry(run.id, index))
    await journal.close()
    store.leases.release(run.id, store.leases.owner())
    return run.id


def said(store: Store, run_id: str) -> list[str]:
    return [damage.what for damage in store.verification.check_run(run_id).damages]


async def test_an_undamaged_run_is_covered_whole(store: Store, samples: "Samples") -> None:
    run_id = await recorded(store, samples)
    verified = store.verification.check_run(run_id)
    assert (verified.finished, verified.covered, verified.damages) == (5, 5, ())
    assert store.runs.get(run_id).chain.startswith("5:")
    assert store.verification.check_file() == ""


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE scores SET value = 0.123", "its row or its scores are not what was recorded"),
        (
            "UPDATE episodes SET steps = steps + 1",
            "its row or its scores are not what was recorded",
        ),
        (
            "UPDATE episodes SET task_id = 'other'",
            "its row or its scores are not what was recorded",
        ),
        ("DELETE FROM event_chunks", "its trace is not what was recorded"),
        ("UPDATE event_chunks SET first_step = first_step + 1", "its trace is not what was recorded"),
        ("DELETE FROM episodes WHERE position = 2", "5 finished episodes were recorded, 4 are there"),
        ("UPDATE episodes SET link = 9 - link", "the chain over its episodes does not end as it was recorded"),
    ],
)
async def test_every_change_is_told(store: Store, samples: "Samples", statement: str, what: str) -> None:
    run_id = await recorded(store, samples)
    with store.database.engine.begin() as connection:
        connection.execute(text(statement))
    assert what in said(store, run_id)


async def test_other_events_of_the_same_length_in_a_whole_chunk_are_told(store: Store, samples: "Samples") -> None:
    run_id = await recorded(store, samples, 1)
    with store.database.engine.begin() as connection:
        data = connection.execute(select(event_chunks.c.data)).scalar_one()
        other = zstandard.ZstdDecompressor().decompress(data).replace(b"1", b"2")
        connection.execute(update(event_chunks).values(data=compress([other])[0]))
    assert said(store, run_id) == ["its trace is not what was recorded"]


async def test_numbers_are_covered_as_the_database_gives_them_back(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    journal = store.journal(run.id, store.leases.owner(), lambda _: None, lambda: None)
    values = (3, True, -0.0, 2**60 + 1, 1e300, float("nan"), 0.1)
    for index, value in enumerate(values):
        entry = samples.entry(run.id, index)
        entry.episode.total_reward = value
        entry.episode.scores = (Score("b", value), Score("a", value))
        entry.episode.terminal_info = {"long": "ü" * 5_000}
        journal.write(entry)
    await journal.close()
    assert said(store, run.id) == []


async def test_scores_that_are_written_anew_are_no_damage(store: Store, samples: "Samples") -> None:
    run_id = await recorded(store, samples)
    before = store.runs.get(run_id).chain
    ids = [episode.id for episode in store.episodes.list(run_id).items]
    store.episodes.save_scores(run_id, [(episode_id, [Score("reward", 0.5)]) for episode_id in ids])
    store.runs.save(store.runs.get(run_id))
    assert said(store, run_id) == []
    assert store.runs.get(run_id).chain not in ("", before)


async def test_a_run_that_goes_on_and_one_without_some_episodes_have_a_whole_chain(
    store: Store, samples: "Samples"
) -> None:
    run_id = await recorded(store, samples)
    store.leases.take(run_id, store.leases.owner())
    journal = store.journal(run_id, store.leases.owner(), lambda _: None, lambda: None)
    journal.write(samples.entry(run_id, 5))
    await journal.close()
    store.leases.release(run_id, store.leases.owner())
    assert said(store, run_id) == []
    assert store.episodes.drop_unscored(run_id, "reward") >= 0
    assert said(store, run_id) == []


async def test_a_run_of_before_there_were_checksums_is_not_covered(store: Store, samples: "Samples") -> None:
    run_id = await recorded(store, samples)
    with store.database.engine.begin() as connection:
        connection.execute(text("UPDATE episodes SET checksum = NULL, link = NULL"))
        connection.execute(text("UPDATE runs SET chain = NULL"))
    verified = store.verification.check_run(run_id)
    assert (verified.finished, verified.covered, verified.damages) == (5, 0, ())


async def test_a_bundle_keeps_the_chain_and_a_changed_number_in_it_is_told(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    run_id = await recorded(store, samples)
    with (tmp_path / "out.zip").open("wb") as file:
        write_bundle(file, [store.bundles.run(run_id)])
    with Bundle(tmp_path / "out.zip") as bundle:
        run, entries = bundle.run(run_id), list(bundle.entries(run_id))
    there = open_store(tmp_path / "there")
    assert there.bundles.insert(run, entries) == 5
    assert said(there, run_id) == []
    assert there.runs.get(run_id).chain == run.chain
    other = open_store(tmp_path / "other")
    entries[1].episode.steps += 1
    with pytest.raises(UsageError, match="is not what was exported"):
        other.bundles.insert(run, entries)
    entries[1].episode.steps -= 1
    with pytest.raises(UsageError, match="are not those that were exported"):
        other.bundles.insert(run, entries[:-1])
    there.close()
    other.close()


async def test_overwritten_pages_of_a_file_are_told(samples: "Samples", tmp_path: Path) -> None:
    with_file = open_store(tmp_path)
    await recorded(with_file, samples, 200)
    with_file.close()
    file = tmp_path / "orchestrator.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(file.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096] = b"\xa5" * 4096
    file.write_bytes(data)
    # Which page it is decides whether SQLite still begins to read, or opens the file at all.
    try:
        with closing(open_store(tmp_path)) as damaged:
            told = damaged.verification.check_file()
    except InfrastructureError as error:
        told = str(error)
    assert told
