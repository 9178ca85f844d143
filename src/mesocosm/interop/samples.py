"""Convert the samples of a run (attempts at rows) to flat records, and write them as JSON lines, CSV or parquet."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import Cause, Incompatible, UsageError
from mesocosm.core.one_line import answer_text
from mesocosm.core.ports import EpisodeStore
from mesocosm.core.run import Run
from mesocosm.core.score import Metric, Score
from mesocosm.interop.cell import harmless
from mesocosm.interop.conversation import ConversationSource, EpisodeConversation, EpisodeSelection, conversations
from mesocosm.interop.files import replacing

Cell = str | int | float | bool | None

FIXED = (
    *("episode", "row_index", "task", "trial", "status", "reward", "passed", "cause", "error"),
    *("prompt_tokens", "completion_tokens", "total_tokens", "cost_usd", "duration_s", "prompt", "answer"),
    *("expected", "given", "why", "mistake", "behaviour"),
)
"""Columns of every table of samples; scores follow as `score.NAME`, labels as `label.NAME`."""

_BATCH = 1_000
_GROUP = 10_000
_LABELS = 100
_TYPES = {
    **dict.fromkeys(("row_index", "trial", "prompt_tokens", "completion_tokens", "total_tokens"), "int64"),
    **dict.fromkeys(("reward", "cost_usd", "duration_s"), "float64"),
    "passed": "bool",
}
"""Parquet types of the columns that are not text."""

_labels = msgspec.json.Decoder(dict[str, str])


class SampleInput(ConversationSource, Protocol):
    """The store that samples are read from."""

    @property
    def episodes(self) -> EpisodeStore:
        """Summaries of episodes."""
        ...


@dataclass(frozen=True, slots=True)
class SampleRules:
    """How to read a run's episodes as samples: the name of the primary score, and the bar above which it passes."""

    primary: str
    bar: float | None

    @classmethod
    def of(cls, run: Run) -> "SampleRules":
        """Return the rules that a run declares."""
        metrics = msgspec.convert(run.info.get("metrics", []), tuple[Metric, ...])
        name = next((metric.score for metric in metrics if metric.primary), "")
        rates = [metric for metric in metrics if metric.aggregation == "pass_rate" and metric.score == name]
        rates.sort(key=lambda metric: metric.name != "pass_rate")
        return cls(name, rates[0].bar if rates else None)


@dataclass(frozen=True, slots=True)
class RowSample:
    """One attempt at one row.

    `row_index` is its index in the dataset, or in the plan if tasks are not rows. `status` is graded (it has a reward),
    failed, skipped, or owed (started but still pending); `cause` is why there is no reward. `passed` is None without a
    reward or a threshold. `duration_s` is in seconds; `cost_usd` is None if a price is unknown. `prompt` and `answer`
    are the texts of its conversation. `expected` is the right answer, `given` the one that was graded, `why` the reason
    of a score that is not the best, `mistake` its kind (see core.episode).
    """

    episode: str
    row_index: int
    task: str
    trial: int
    status: str
    reward: float | None
    passed: bool | None
    cause: str
    error: str
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_usd: float | None
    duration_s: float | None
    prompt: str = ""
    answer: str = ""
    expected: str = ""
    given: str = ""
    why: str = ""
    mistake: str = ""
    behaviour: str = ""
    scores: dict[str, float | None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def cells(self, scores: Sequence[str], labels: Sequence[str]) -> list[Cell]:
        """Return the values of the columns FIXED, then of the given scores and labels."""
        fixed: list[Cell] = [getattr(self, name) for name in FIXED]
        return [*fixed, *(self.scores.get(name) for name in scores), *(self.labels.get(name) for name in labels)]


def samples(run: Run, store: ConversationSource, rows: EpisodeSelection | None = None) -> Iterator[RowSample]:
    """Yield the samples of a run that were started, in plan order; only those that `rows` selects."""
    reading = SampleRules.of(run)
    for episode, said in conversations(store, run.id, whole=False, rows=rows):
        yield sample(episode, said, reading)


def sample(episode: Episode, said: EpisodeConversation, reading: SampleRules) -> RowSample:
    """Return an episode as a sample."""
    pending = episode.status not in FINISHED
    score = None if pending else primary_score(episode, reading)
    reward = None if score is None else finite(score.value)
    usage, ended = episode.usage, episode.ended_at
    prompt, answer = said.texts(episode)
    return RowSample(
        episode=episode.id,
        row_index=row_of(episode),
        task=episode.task_id,
        trial=episode.trial,
        status="owed" if pending else status_of(score, reward),
        reward=reward,
        passed=None if reward is None or reading.bar is None else reward > reading.bar,
        cause=(episode.failure.cause.value if episode.failure else "") if pending else cause_of(episode, score, reward),
        error=error_of(episode, score, reward),
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        total_tokens=usage.total,
        cost_usd=finite(usage.cost_usd),
        duration_s=None if ended is None else finite(ended - episode.started_at),
        prompt=prompt,
        answer=answer,
        expected=answer_text(episode.target),
        given=answer_text(episode.answer),
        why=episode.why,
        mistake=episode.mistake,
        behaviour=episode.behaviour,
        scores={} if pending else {one.name: finite(one.value) for one in episode.scores},
        labels=episode.labels,
    )


def row_of(episode: Episode) -> int:
    """Return the index of an episode's row in its dataset, or of the episode in the plan if tasks are not rows."""
    row = episode.terminal_info.get("row")
    if type(row) is int:
        return row
    return int(episode.task_id) if episode.task_id.isdecimal() and len(episode.task_id) < 16 else episode.index


def primary_score(episode: Episode, reading: SampleRules) -> Score | None:
    """Return the primary score; if none is declared, the only score."""
    if not reading.primary and len(episode.scores) == 1:
        return episode.scores[0]
    return next((score for score in episode.scores if score.name == reading.primary), None)


def status_of(score: Score | None, reward: float | None) -> str:
    """Return graded, failed or skipped."""
    if reward is not None:
        return "graded"
    return "skipped" if score is not None and score.missing is Cause.SKIPPED else "failed"


def cause_of(episode: Episode, score: Score | None, reward: float | None) -> str:
    """Return why a sample has no reward; empty if it has one."""
    if reward is not None:
        return ""
    if score is not None and score.missing is not None:
        return score.missing.value
    return episode.failure.cause.value if episode.failure is not None else Cause.VALUE_MISSING.value


def error_of(episode: Episode, score: Score | None, reward: float | None) -> str:
    """Return the error message of an episode or its grading; empty if there was no error."""
    if episode.failure is not None:
        return episode.failure.message
    return score.explanation if score is not None and reward is None else ""


def finite(value: float | None) -> float | None:
    """Return a finite number, else None: JSON has neither NaN nor infinity."""
    return value if value is not None and math.isfinite(value) else None


def columns(run: Run, store: SampleInput) -> tuple[list[str], list[str]]:
    """Return the names of the scores and of the labels (at most 100) of a run's samples."""
    declared = msgspec.convert(run.info.get("metrics", []), tuple[Metric, ...])
    known = {metric.name for metric in declared}
    # An undeclared score has a metric with its own name.
    found = [metric.name for metric in run.metrics if metric.name not in known]
    names = dict.fromkeys([*(metric.score for metric in declared), *found])
    labels: dict[str, None] = {}
    for row in store.episodes.result_rows(run.id, SampleRules.of(run).primary):
        if row.labels and len(labels) < _LABELS:
            labels.update(dict.fromkeys(_labels.decode(row.labels)))
    return list(names), list(labels)[:_LABELS]


def heads(scores: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the names of all columns of a table."""
    return [*FIXED, *(f"score.{name}" for name in scores), *(f"label.{name}" for name in labels)]


def write_samples(run: Run, store: SampleInput, path: Path, rows: EpisodeSelection | None = None) -> int:
    """Write the samples of a run to `path` atomically and return their number.

    The ending selects the format: .jsonl, .csv or .parquet. Raises UsageError for another ending or if the file cannot
    be written, Incompatible if the package for parquet is missing.
    """
    write = {".jsonl": _write_jsonl, ".csv": _write_csv, ".parquet": _write_parquet}.get(path.suffix.lower())
    if write is None:
        raise UsageError(f"{path} says no format of samples; let it end in .jsonl, .csv or .parquet")
    names = columns(run, store)
    with replacing(path) as file:
        return write(file, samples(run, store, rows), names)


def _write_jsonl(file: BinaryIO, found: Iterator[RowSample], names: tuple[list[str], list[str]]) -> int:
    head, count = heads(*names), 0
    for one in found:
        file.write(msgspec.json.encode(dict(zip(head, one.cells(*names), strict=True))) + b"\n")
        count += 1
    return count


def _write_csv(file: BinaryIO, found: Iterator[RowSample], names: tuple[list[str], list[str]]) -> int:
    file.write(_lines([heads(*names)]))
    count = 0
    while batch := [one.cells(*names) for one in islice(found, _BATCH)]:
        file.write(_lines(batch))
        count += len(batch)
    return count


def _lines(rows: Sequence[Sequence[Cell]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
    return buffer.getvalue().encode("utf-8", "replace")


def _write_parquet(file: BinaryIO, found: Iterator[RowSample], names: tuple[list[str], list[str]]) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise Incompatible("a parquet file", ["it needs pyarrow: pip install 'mesocosm[hub]'"]) from error
    scores, labels = names
    types = [*(_TYPES.get(name, "string") for name in FIXED), *("float64" for _ in scores), *("string" for _ in labels)]
    columns = zip(heads(*names), types, strict=True)
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in columns])
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := [one.cells(*names) for one in islice(found, _GROUP)]:
            whole = zip(*batch, strict=True)
            arrays = [pyarrow.array(values, type=field.type) for values, field in zip(whole, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            count += len(batch)
    return count
