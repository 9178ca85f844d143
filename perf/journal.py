"""What it costs to store an episode durably: the journal against bare sqlite3 with the same rows.

    python perf/journal.py [--episodes 10000] [--url postgresql://...]

Each episode has one row, two scores and one chunk of about 1.5 KB. `journal` counts the processor time of the whole
process while the event loop only hands over; `busy` lets the event loop compute 150 µs for each episode meanwhile, as
an engine does, and takes that off again.
"""

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store
from mesocosm.store.rows import episode_row, score_rows
from mesocosm.store.traces import chunk_rows
from perf.machine import peak_mib

BUSY_S = 150e-6


def entry(run_id: str, index: int) -> Entry:
    """Return the one entry of a one-step episode."""
    episode = Episode(
        id=new_id(),
        run_id=run_id,
        task_digest=digest({"seed": index}),
        task_id=f"seed {index}",
        seed=index,
        index=index,
        status=EpisodeStatus.COMPLETED,
        started_at=time.time(),
        ended_at=time.time(),
        steps=1,
        total_reward=1.0,
        terminal_info={"correct": True, "answer": index},
        usage=Usage(120, 12, 0, 0, 0.0001, 1),
        events=10,
        scores=(Score("accuracy", 1.0), Score("length", float(index % 7))),
    )
    encode = msgspec.json.Encoder().encode
    payload = {"messages": [[0, 1]], "usage": {"prompt": 120 + index, "completion": 12}, "text": f"answer {index}"}
    raw = b"".join(encode(Event(seq, 0, time.time(), Kind.MODEL_CALL, payload)) + b"\n" for seq in range(9))
    return Entry(episode, [Chunk(0, 0, 8, 0, 1, raw)])


def new_run(store: Store) -> str:
    """Insert a run that this process holds."""
    spec = RunSpec(BenchmarkRef("python", "perf"), ModelSettings("builtin/none"))
    run = Run(new_id(), digest("perf"), "perf", "perf", "1", "0", "python", "builtin/none", "loop", spec)
    run.created_at = time.time()
    store.runs.add(run)
    store.leases.take(run.id, store.leases.owner())
    return run.id


async def journal(store: Store, entries: Sequence[Entry], work_s: float) -> tuple[float, float]:
    """Return processor and wall seconds for writing `entries`, computing `work_s` before each of them."""
    journal = store.journal(entries[0].episode.run_id, store.leases.owner(), lambda _: None, lambda: None)
    cpu, wall = time.process_time(), time.perf_counter()
    for place, item in enumerate(entries):
        end = time.thread_time() + work_s
        while time.thread_time() < end:
            pass
        await journal.room()
        journal.write(item)
        if place % 20 == 0:
            await asyncio.sleep(0)
    await journal.drain()
    spent = time.process_time() - cpu, time.perf_counter() - wall
    await journal.close()
    return spent


def bare(path: Path, entries: Sequence[Entry]) -> tuple[float, float]:
    """Return processor and wall seconds for the same rows and the same compression on a bare connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, len(entries), 2_000):
        some = entries[start : start + 2_000]
        connection.execute("BEGIN IMMEDIATE")
        for table, rows in (
            ("episodes", [episode_row(item.episode) for item in some]),
            ("event_chunks", chunk_rows([(item.episode.id, item.chunks[0]) for item in some])),
            ("scores", [r for i in some for r in score_rows(i.episode.id, i.episode.run_id, i.episode.scores)]),
        ):
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
        connection.execute("COMMIT")
    spent = time.process_time() - cpu, time.perf_counter() - wall
    connection.close()
    return spent


def show(name: str, spent: tuple[float, float], count: int, base: float) -> float:
    """Print one line, return µs of processor time per episode."""
    cpu, wall = (seconds / count * 1e6 for seconds in spent)
    ratio = f"{cpu / base:6.2f} x bare" if base else ""
    print(f"{name:<24} {cpu:8.1f} µs cpu/episode {wall:8.1f} µs wall/episode {ratio}")
    return cpu


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--url", default="", help="a PostgreSQL database to measure instead of a new SQLite file")
    arguments = parser.parse_args()
    count = arguments.episodes
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "perf.sqlite"
        store = open_store(arguments.url or path)
        run_id = new_run(store)
        base = 0.0
        if not arguments.url:
            base = show("bare sqlite3", bare(path, [entry(run_id, i) for i in range(count)]), count, 0.0)
        for name, work_s in (("journal", 0.0), ("journal, busy loop", BUSY_S)):
            run_id = new_run(store)
            entries = [entry(run_id, index) for index in range(count)]
            cpu, wall = asyncio.run(journal(store, entries, work_s))
            show(name, (cpu - work_s * count, wall - work_s * count), count, base)
            store.leases.release(run_id, store.leases.owner())
            store.runs.delete(run_id)
        store.close()
        print(f"{'peak memory':<24} {peak_mib():8.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
