"""Search of what was said over many episodes: first hits, the size of the index, and what it costs to keep it.

    python -m perf search                         100,000 episodes, in a store that is thrown away
    python -m perf.search PLACE EPISODES [RUNS]   fill and measure a store of your own: a directory, or postgresql://…

An episode has a question, three calls of a tool with results, reasoning and a reply: 10 KB of events. Its words are as
frequent as in a language (Zipf, of 60,000), two of three from a topic of 150, so that they repeat as in prose: of 1,000
words 450 are different.
"""

import random
import statistics
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import msgspec
import sqlalchemy

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store
from mesocosm.store.search_query import read_query
from perf.machine import line

EPISODES = 100_000
RUNS = 20
FIRST_MS = 300.0
SHARE = 40.0
"""Percent of the traces' stored size that the index may take."""

_encode = msgspec.json.Encoder().encode
_chance = random.Random(17)
_LETTERS = "aeioutnrsldcmpghbyfvkwzxjq"


def _vocabulary(size: int) -> list[str]:
    found: set[str] = set()
    while len(found) < size:
        found.add("".join(_chance.choices(_LETTERS, range(26, 0, -1), k=_chance.randrange(3, 11))))
    return sorted(found, key=lambda word: (len(word), word))


WORDS = _vocabulary(60_000)
_SUMS = list(accumulate(1 / (rank + 2.7) for rank in range(len(WORDS))))


def _word() -> str:
    return WORDS[bisect(_SUMS, _chance.random() * _SUMS[-1])]


class _Author:
    """Writes about a topic."""

    def __init__(self) -> None:
        self._topic = [_word() for _ in range(150)]

    def text(self, words: int) -> str:
        chosen = [_chance.choice(self._topic) if _chance.random() < 2 / 3 else _word() for _ in range(words)]
        return " ".join(chosen).capitalize() + "."


def _entry(run_id: str, index: int) -> Entry:
    text = _Author().text
    steps: list[tuple[int, Kind, Any]] = [(0, Kind.OBSERVATION, {"data": text(80)})]
    steps.append((1, Kind.MESSAGE, {"index": 0, "role": "user", "content": steps[0][2]["data"]}))
    for step in range(1, 4):
        call = {
            "id": f"call_{step}",
            "name": "look_up",
            "arguments": {"query": text(6), "id": _chance.randrange(10**6)},
        }
        reply = {"text": text(40), "reasoning": text(80), "tool_calls": [call], "messages": [[0, 2 * step]]}
        usage = {"model": "provider/model", "usage": {"prompt": 900, "completion": 80}, "latency_s": _chance.random()}
        steps.append((step, Kind.MODEL_CALL, {**reply, **usage}))
        result = {"index": 2 * step, "role": "tool", "tool_call_id": call["id"], "content": text(150)}
        steps.append((step, Kind.MESSAGE, result))
    final = text(90)
    if index % 100 < 69 and index < 10_000:
        final += " I really cannot help with that zebraquest."
    steps.append((4, Kind.MODEL_CALL, {"text": final, "reasoning": text(60), "messages": [[0, 7]]}))
    steps.append((4, Kind.ACTION, {"action": final}))
    events = [Event(n, step, 1.79e9 + n * 0.7, kind, payload) for n, (step, kind, payload) in enumerate(steps)]
    raw = b"".join(_encode(event) + b"\n" for event in events)
    episode = Episode(
        id=new_id(),
        run_id=run_id,
        task_digest=digest({"seed": index}),
        task_id=f"seed {index}",
        index=index,
        status=EpisodeStatus.COMPLETED,
        started_at=1.0,
        ended_at=2.0,
        steps=4,
        usage=Usage(3_000, 400, 0, 0, 0.01, 4),
        events=len(events),
        scores=(Score("accuracy", float(_chance.random() < 0.35)),),
    )
    return Entry(episode, [Chunk(0, 0, len(events) - 1, 0, 4, raw)])


def fill(store: Store, count: int, runs: int) -> None:
    """Add runs with `count` episodes together."""
    for number in range(runs):
        planned = count // runs
        run = Run(
            id=new_id(),
            signature=digest(number),
            benchmark="words",
            benchmark_title="Words",
            benchmark_version="1.0",
            benchmark_digest=digest("words"),
            kind="environment",
            model=f"provider/model-{number % 5}",
            agent="loop",
            spec=RunSpec(BenchmarkRef("environment", "words"), ModelSettings("provider/model")),
            status=RunStatus.FINISHED,
            counts=Counts(planned, completed=planned),
            created_at=time.time(),
            info={"metrics": [{"name": "accuracy", "score": "accuracy", "primary": True}]},
        )
        first = number * planned
        store.bundles.insert(run, (_entry(run.id, first + place) for place in range(planned)))


def _queries() -> Iterator[tuple[str, str]]:
    yield "planted, a rare word", "zebraquest"
    yield "planted, exact words", '"cannot help with that"'
    yield "a word that is nowhere", "qqqqqzzzz"
    for rank in (10, 1_000, 10_000, 50_000):
        yield f"a word of rank {rank:,}", WORDS[rank]
    yield "two words", f"{WORDS[500]} {WORDS[3_000]}"
    yield "a beginning", f"{WORDS[20_000][:4]}*"
    yield "one without another", f"{WORDS[5_000]} -{WORDS[50]}"
    yield "in replies", f"in:reply {WORDS[2_000]}"
    yield "two words, exact", f'"{WORDS[300]} {WORDS[400]}"'


def _size(store: Store, table: str) -> int:
    if store.database.postgres:
        return int(store.database.scalar(sqlalchemy.text(f"SELECT pg_total_relation_size('{table}')")))
    wanted = sqlalchemy.text(
        f"SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master WHERE tbl_name = '{table}')"
    )
    return int(store.database.scalar(wanted))


def measure(place: str, count: int, runs: int) -> None:
    """Fill a store if it is empty, index it, and measure the index and its answers."""
    store = open_store(place)
    if not store.runs.ids():
        began = time.perf_counter()
        fill(store, count, runs)
        print(f"  made {count:,} episodes in {time.perf_counter() - began:.0f} s")
    waiting = store.search.index.pending()
    began, worked = time.perf_counter(), time.process_time()
    store.search.index.update()
    if waiting:
        each = 1e6 * (time.process_time() - worked) / waiting
        seconds = time.perf_counter() - began
        print(f"  indexed {waiting:,} episodes in {seconds:.0f} s, {each:.0f} µs of processor time each")
    traces = _size(store, "event_chunks")
    index = _size(store, "search_blocks") + _size(store, "search_pages")
    print(f"  traces {traces / 2**20:,.0f} MiB as stored, index {index / 2**20:,.0f} MiB")
    line("index, share of the traces", 100 * index / traces, "%", SHARE, above=False)
    for name, query in _queries():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            found = store.search.find(read_query(query), limit=20, budget_s=0.2)
            times.append(1000 * (time.perf_counter() - began))
        began, worked = time.perf_counter(), time.process_time()
        whole = store.search.find(read_query(query), limit=20, budget_s=600)
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
        line(f"{name}: {len(found.hits)} hits", statistics.median(times), "ms", FIRST_MS, above=False)
        took = f"{seconds * 1000:,.0f} ms, {worked * 1000:,.0f} ms of processor time"
        print(f"    all {whole.episodes:,} counted in {took}; slowest first answer {max(times):.0f} ms")
    store.close()


def search() -> None:
    """Measure a store of 100,000 episodes."""
    with tempfile.TemporaryDirectory() as place:
        measure(place, EPISODES, RUNS)


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else RUNS)
