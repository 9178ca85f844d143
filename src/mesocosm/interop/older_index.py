"""Convert the samples of a run to records of the older evaluation tool, and compute its statistics.

Its definitions are kept: a failed sample counts as not passed, regardless of the cause, and reward statistics include
only graded samples. The run's own metrics are the ones to trust.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.run import Run, RunStatus
from mesocosm.interop.record import moment
from mesocosm.interop.samples import SampleRules, cause_of, error_of, finite, primary_score, row_of, status_of
from mesocosm.stats import pass_at_k, spread

_STATUS = {
    RunStatus.FINISHED: "finished",
    RunStatus.PARTIAL: "partial",
    RunStatus.FAILED: "failed",
    RunStatus.STOPPED: "stopped",
}


class IndexRecord(msgspec.Struct, frozen=True):
    """One sample. `row_index` counts within the selected rows, `source_row_index` in the dataset."""

    row_index: int
    run_index: int
    rollout_id: str
    status: str
    source_row_index: int
    reward: float | None
    tokens: int
    duration_ms: int
    error_type: str | None
    error: str | None

    @property
    def name(self) -> str:
        """The base name of the sample's files."""
        return f"row_{self.row_index}_run_{self.run_index}"


def records(run: Run, episodes: Iterable[Episode]) -> Iterator[IndexRecord]:
    """Yield the records of the finished episodes."""
    reading = SampleRules.of(run)
    for episode in episodes:
        if episode.status in FINISHED:
            yield record(run, episode, reading)


def record(run: Run, episode: Episode, reading: SampleRules) -> IndexRecord:
    """Return an episode as a record."""
    score = primary_score(episode, reading)
    reward = None if score is None else finite(score.value)
    seconds = finite((episode.ended_at or episode.started_at) - episode.started_at) or 0.0
    rows = run.counts.planned // max(run.spec.selection.trials, 1)
    return IndexRecord(
        row_index=episode.index - episode.trial * rows if episode.index >= episode.trial * rows else episode.index,
        run_index=episode.trial,
        rollout_id=episode.id,
        status="success" if reward is not None else status_of(score, reward),
        source_row_index=row_of(episode),
        reward=reward,
        tokens=episode.usage.total,
        duration_ms=round(max(seconds, 0.0) * 1000),
        error_type=cause_of(episode, score, reward) or None,
        error=error_of(episode, score, reward) or None,
    )


@dataclass(slots=True)
class IndexSummary:
    """Aggregates records; a reward above `bar` is a pass."""

    bar: float | None
    total: int = 0
    skipped: int = 0
    tokens: int = 0
    runs: int = 0
    rewards: list[float] = field(default_factory=list)
    attempts: Counter[int] = field(default_factory=Counter)
    passes: Counter[int] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, found: IndexRecord) -> None:
        """Add a record."""
        self.total += 1
        self.tokens += found.tokens
        self.runs = max(self.runs, found.run_index + 1)
        self.statuses[found.status] += 1
        if found.status == "skipped":
            self.skipped += 1
            return
        self.attempts[found.row_index] += 1
        if found.reward is not None:
            self.rewards.append(found.reward)
            self.passes[found.row_index] += self.bar is not None and found.reward > self.bar

    @property
    def passed(self) -> int:
        """Number of passes."""
        return self.passes.total()

    def pass_at_k(self) -> list[dict[str, float]]:
        """Return pass@k for powers of two up to the number of attempts; empty for one attempt or no threshold."""
        if self.runs < 2 or self.bar is None:
            return []
        counts = [(tries, self.passes[row]) for row, tries in self.attempts.items()]
        most = max((tries for tries, _ in counts), default=0)
        ks = [2**power for power in range(self.runs.bit_length()) if 2**power <= min(self.runs, most)]
        return [{"k": k, "value": pass_at_k(counts, k).interval.value} for k in ks]


def metrics_document(run: Run, found: IndexSummary) -> dict[str, Any]:
    """Return the older tool's metrics.json: `eval_run`, `summary` and `metrics`."""
    scored = found.total - found.skipped
    rewards = _reward_stats(found.rewards)
    return {
        "eval_run": {
            "id": run.id,
            "name": run.name or run.id,
            "status": _STATUS.get(run.status, str(run.status)),
            "model_name": run.model,
            "dataset_name": run.benchmark,
            "rollout_name": run.agent,
            "created_at": moment(run.created_at),
            "started_at": moment(run.started_at),
            "completed_at": moment(run.ended_at),
        },
        "summary": {
            "score": None if rewards is None else rewards["mean"],
            "total_samples": found.total,
            "completed_samples": scored,
            "graded": len(found.rewards),
            "passed": found.passed,
            "failed": found.statuses["failed"],
            "skipped": found.skipped,
            "pass_rate": found.passed / scored if scored else 0.0,
            "pass_threshold": _threshold(run),
            "reward_stats": rewards,
            "pass_at_k": found.pass_at_k(),
            "tokens_used": found.tokens,
            "cost_usd": finite(run.usage.cost_usd),
            "progress": progress_document(run, found),
        },
        "metrics": [msgspec.to_builtins(metric) for metric in run.metrics],
    }


def progress_document(run: Run, found: IndexSummary) -> dict[str, Any]:
    """Return the older tool's progress.json."""
    return {
        "total_runs": run.counts.planned,
        "sampled_rows": run.counts.planned // max(run.spec.selection.trials, 1),
        "completed_runs": found.total,
    }


def _reward_stats(rewards: list[float]) -> dict[str, float] | None:
    if not rewards:
        return None
    found = spread(rewards)
    return {name: getattr(found, name) for name in ("mean", "median", "std", "min", "max")}


def _threshold(run: Run) -> float | None:
    for metric in run.info.get("metrics", []):
        if metric.get("name") == "pass_rate":
            return float(metric.get("threshold", 0.0))
    return None
