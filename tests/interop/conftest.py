"""A recorded evaluation of a rollout: three rows, two tries of each, with everything that can become of a sample."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import Metric, MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store

METRICS = (
    Metric("reward", "reward", low=0.0, primary=True),
    Metric("pass_rate", "reward", "pass_rate", threshold=1.0, inclusive=True),
)
ROWS = (3, 7, 11)
"""Places in the dataset of the rows that were chosen."""

Said = dict[str, Any]


def conversation(row: int) -> list[Said]:
    """Return messages with a tool and an answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    return [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": [{"type": "text", "text": f"What is row {row}?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "assistant", "content": f"=row {row}", "reasoning_content": "easy"},
    ]


def events(row: int, messages: list[Said] | None) -> list[tuple[Kind, Any]]:
    """Return what the trace of a sample holds."""
    call = {"model": "m", "messages": [], "text": "said", "usage": {"prompt": 50, "completion": 5, "calls": 1}}
    found: list[tuple[Kind, Any]] = [
        (Kind.EPISODE_START, {"seed": None, "task": str(row), "trial": 0}),
        (Kind.OBSERVATION, {"data": {"prompt": [{"role": "user", "content": f"What is row {row}?"}]}}),
        (Kind.LOG, {"stream": "stdout", "message": f"working on {row}"}),
        (Kind.MODEL_CALL, call),
        (Kind.MODEL_CALL, call),
        (Kind.MODEL_CALL, {**call, "role": "judge", "text": "verdict"}),
    ]
    if messages is not None:
        found.append((Kind.OBSERVATION, {"data": {"messages": messages, "label": "2"}}))
    return found


def chunk(listed: list[tuple[Kind, Any]]) -> Chunk:
    lines = [msgspec.json.encode(Event(seq, 0, 5.0, kind, payload)) for seq, (kind, payload) in enumerate(listed)]
    return Chunk(0, 0, len(lines) - 1, 0, 0, b"\n".join(lines) + b"\n")


class Evaluation:
    """Writes a run of samples into a store."""

    def __init__(self, store: Store, options: dict[str, Any]) -> None:
        self.store = store
        ref = BenchmarkRef("rollout", "maths", options)
        self.run = store.runs.add(
            Run(
                id=new_id(),
                signature=digest("maths"),
                benchmark="maths",
                benchmark_title="maths",
                benchmark_version="1",
                benchmark_digest=digest("rows"),
                kind="rollout",
                model="openai/m",
                agent="solver",
                spec=RunSpec(ref, ModelSettings("openai/m"), selection=Selection(trials=2)),
                name="first",
                counts=Counts(planned=6),
                created_at=time.time(),
                info={"metrics": msgspec.to_builtins(METRICS), "discovers": True},
            )
        )
        store.leases.take(self.run.id, store.leases.owner())
        self.entries: list[Entry] = []

    def sample(self, place: int, trial: int, reward: float | Cause, **given: Any) -> Episode:
        """Add a sample: one with a reward, or one that has none for a cause."""
        row = ROWS[place]
        info: dict[str, Any] = {"row": row, "metrics": {"turns": 2.0}, "extra": {"note": "kept"}}
        fields: dict[str, Any] = {"status": EpisodeStatus.COMPLETED, "terminal_info": info}
        messages: list[Said] | None = conversation(row)
        if isinstance(reward, Cause):
            error = EpisodeError(reward, f"{reward} of row {row}")
            fields["scores"] = (Score("reward", missing=reward, explanation=str(error)),)
            if error.rule.valid:
                fields |= {"status": EpisodeStatus.FAILED, "failure": error.failure()}
                fields["scores"] = (Score("reward", worst=True),)
                messages = None
        else:
            fields["scores"] = (Score("reward", reward), Score("turns", 2.0))
        listed = events(row, messages)
        episode = Episode(
            id=f"e-{row}-{trial}",
            run_id=self.run.id,
            task_digest=digest(row),
            task_id=str(row),
            trial=trial,
            index=trial * len(ROWS) + place,
            started_at=100.0,
            ended_at=101.5,
            usage=Usage(100, 10, 4, 2, 0.25, 2),
            events=len(listed),
            labels={"level": str(place), "=topic": "+sum"},
        )
        episode = msgspec.structs.replace(episode, **(fields | given))
        self.entries.append(Entry(episode, [chunk(listed)]))
        return episode

    async def write(self) -> Run:
        """Store what was added, and return the finished run."""
        journal = self.store.journal(self.run.id, self.store.leases.owner(), lambda _: None, lambda: None)
        for entry in self.entries:
            journal.write(entry)
        await journal.close()
        run = self.store.runs.get(self.run.id)
        run.status, run.started_at, run.ended_at = RunStatus.FINISHED, 90.0, 110.0
        run.metrics = tuple(MetricResult(name, "mean", 0.5, 0, 1, "normal", 6, 4, 3) for name in ("reward", "turns"))
        self.store.runs.save(run)
        self.store.leases.release(run.id, self.store.leases.owner())
        return self.store.runs.get(run.id)


@pytest.fixture
def store(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(put_empty_store(tmp_path / "results"))
    yield opened
    opened.close()


@pytest.fixture
def evaluation(store: Store) -> Callable[..., Evaluation]:
    """Return what begins an evaluation; options are those of its benchmark."""
    return lambda **options: Evaluation(store, options)


@pytest.fixture
async def evaluated(evaluation: Callable[..., Evaluation]) -> Run:
    """A run with two tries of three rows."""
    made = evaluation()
    rewards: list[float | Cause] = [1.0, 0.25, Cause.WORKFLOW_TIMEOUT, 0.5, Cause.GRADER_ERROR, Cause.SKIPPED]
    for number, reward in enumerate(rewards):
        made.sample(number % 3, number // 3, reward)
    return await made.write()
