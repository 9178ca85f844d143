"""Records as rows and back: the only place that knows which column holds what."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from sqlalchemy import RowMapping

from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import Cause, Failure
from mesocosm.core.run import Counts, LeaseOwner, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.store.schema import runs

Record = TypeVar("Record", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()
_specs = msgspec.json.Decoder(RunSpec)
_words = msgspec.json.Decoder(tuple[str, ...])
_metrics = msgspec.json.Decoder(tuple[MetricResult, ...])
_objects = msgspec.json.Decoder(dict[str, Any])
_holders = msgspec.json.Decoder(LeaseOwner)
_labels = msgspec.json.Decoder(dict[str, str])
_failures = msgspec.json.Decoder(Failure)

SUMMARY = [column for column in runs.c if column.name != "info"]
"""Columns of a run in listings; `info` is wide and belongs to a single run's page."""

_TEXTS = ("name", "benchmark", "benchmark_title", "benchmark_version", "benchmark_digest", "model", "agent")
_SCORED, _WORST, _MISSING, _SKIPPED = "scored", "worst", "missing", "skipped"


def json_text(value: Any) -> str:
    """Return `value` as JSON text."""
    return _encoder.encode(value).decode()


def plain(text: str) -> str:
    """Return `text` as every database takes it: NUL and lone surrogates become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    if not text.isprintable():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    return text


def values_of(record: msgspec.Struct, **changed: Any) -> dict[str, Any]:
    """Return the fields of a record as column values, those in `changed` as given there."""
    fields = msgspec.structs.asdict(record)
    return {name: plain(value) if isinstance(value, str) else value for name, value in fields.items()} | changed


def record_of(kind: type[Record], row: Mapping[Any, Any], **changed: Any) -> Record:
    """Return the record whose fields are columns of a row, those in `changed` as given there."""
    names = kind.__struct_fields__
    return kind(**{name: row[name] for name in names if name not in changed and name in row}, **changed)


def search_text(run_id: str, fields: Sequence[str], tags: Sequence[str]) -> str:
    """Return the lower-case text that filters search in; it is cut so that reading it for all runs stays fast."""
    return plain("\n".join((run_id, *fields, *tags)).casefold())[:2_000]


def run_values(run: Run) -> dict[str, Any]:
    """Return a run as column values."""
    return {
        "id": run.id,
        "created_at": run.created_at,
        "signature": run.signature,
        "attempt": run.attempt,
        "group_id": run.group_id or None,
        "kind": run.kind,
        **{name: plain(getattr(run, name)) for name in _TEXTS},
        "held_at": None if run.holder is None else run.heartbeat_at,
        "heartbeat_at": run.heartbeat_at,
        "holder": None if run.holder is None else json_text(run.holder),
        "stop_requested": run.stop_requested,
        "tags": json_text(run.tags),
        "search": search_text(run.id, (run.name, run.benchmark, run.benchmark_title, run.model, run.agent), run.tags),
        "spec": json_text(run.spec),
        "provenance": json_text(run.provenance),
        "info": json_text(run.info),
        **state_values(run),
        **counter_values(run),
    }


def state_values(run: Run) -> dict[str, Any]:
    """Return the columns that change while a run goes on and that the journal does not count."""
    primary = run.primary
    score = None if primary is None or primary.value is None else _number(primary.value)
    return {
        "status": run.status.value,
        "planned": run.counts.planned,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "error": plain(run.error),
        "provenance": json_text(run.provenance),
        "warnings": json_text(run.warnings),
        "metrics": json_text(run.metrics),
        "score": score,
        "higher_is_better": None if primary is None else primary.higher_is_better,
    }


def counter_values(run: Run) -> dict[str, Any]:
    """Return the columns that the journal counts."""
    counts, usage = run.counts, run.usage
    return {
        **{name: getattr(counts, name) for name in ("completed", "truncated", "timeout", "failed")},
        **{f"{name}_tokens": getattr(usage, name) for name in ("prompt", "completion", "cached", "reasoning")},
        "cost_usd": usage.cost_usd or 0.0,
        "cost_unknown": int(usage.cost_usd is None),
        "model_calls": usage.calls,
    }


def run_from(fields: RowMapping) -> Run:
    """Return the run of a row that holds all columns or those of SUMMARY."""
    return record_of(
        Run,
        fields,
        spec=_specs.decode(fields["spec"]),
        group_id=fields["group_id"] or "",
        status=RunStatus(fields["status"]),
        counts=counts_from(fields),
        metrics=_metrics.decode(fields["metrics"]),
        usage=usage_from(fields),
        holder=holder_from(fields["holder"]),
        stop_requested=bool(fields["stop_requested"]),
        warnings=_words.decode(fields["warnings"]),
        tags=_words.decode(fields["tags"]),
        info=_objects.decode(fields["info"]) if "info" in fields else {},
        provenance=_objects.decode(fields["provenance"]) if "provenance" in fields else {},
        chain=fields["chain"] or "",
    )


def counts_from(fields: RowMapping) -> Counts:
    """Return how many episodes of a run's row are planned, and how they ended."""
    return Counts(*(fields[name] for name in ("planned", "completed", "truncated", "timeout", "failed")))


def usage_from(fields: RowMapping) -> Usage:
    """Return the usage of a run's row; its cost is known only when that of every episode is."""
    return Usage(
        fields["prompt_tokens"],
        fields["completion_tokens"],
        fields["cached_tokens"],
        fields["reasoning_tokens"],
        None if fields["cost_unknown"] else fields["cost_usd"],
        fields["model_calls"],
    )


def holder_from(text: str | None) -> LeaseOwner | None:
    """Return the holder that a run's row names."""
    return None if text is None else _holders.decode(text)


def primary_score(info: Mapping[str, Any], metrics: Sequence[MetricResult] = ()) -> str:
    """Return the name of the score that the primary metric of a run reads; empty where none is declared."""
    declared = _declared(info)
    if declared is not None:
        return plain(declared["score"])
    return next((plain(metric.name) for metric in metrics if metric.primary), "")


def primary_threshold(info: Mapping[str, Any]) -> float:
    """Return the pass threshold of the primary metric, else of a rate of the same score, else 0."""
    primary = _declared(info)
    if primary is None:
        return 0.0
    rates = [metric for metric in _metrics_of(info) if metric.get("aggregation") == "pass_rate"]
    rates = [metric for metric in rates if metric.get("score") == primary["score"]]
    rates.sort(key=lambda metric: (not metric.get("primary"), metric.get("name") != "pass_rate"))
    metric = rates[0] if rates else primary
    found = metric.get("threshold", 0.0)
    threshold = float(found) if isinstance(found, int | float) else 0.0
    return math.nextafter(threshold, -math.inf) if metric.get("inclusive") is True else threshold


def _declared(info: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for metric in _metrics_of(info):
        if metric.get("primary") and isinstance(metric.get("score"), str):
            return metric
    return None


def _metrics_of(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    # An imported run may hold anything here.
    metrics = info.get("metrics")
    return [metric for metric in metrics if isinstance(metric, dict)] if isinstance(metrics, list) else []


def read_metrics(info: str, metrics: str) -> tuple[dict[str, Any], tuple[MetricResult, ...]]:
    """Return what the columns `info` and `metrics` of a run hold, for `primary_score`."""
    return _objects.decode(info), _metrics.decode(metrics)


def outcome(episode: Episode, scores: Sequence[Score], primary: str) -> tuple[float | None, str | None]:
    """Return value and outcome (scored, worst, missing, skipped) of the primary score of a finished episode."""
    if episode.status not in FINISHED:
        return None, None
    return score_outcome(scores, primary)


def score_outcome(scores: Sequence[Score], primary: str) -> tuple[float | None, str | None]:
    """Return value and outcome of the score called `primary` of a finished episode, as `outcome` does."""
    if not primary and len(scores) != 1:
        return None, None
    # Of several with one name the last counts, as in score_rows.
    found = next((score for score in reversed(scores) if not primary or plain(score.name) == primary), None)
    if found is None:
        return None, _MISSING
    value = _number(found.value)
    if value is not None:
        return value, _SCORED
    if found.worst:
        return None, _WORST
    return None, _SKIPPED if found.missing is Cause.SKIPPED else _MISSING


def episode_row(episode: Episode, primary: str = "") -> tuple[Any, ...]:
    """Return the column values of an episode, its checksum apart; `primary` names the score that ranks it."""
    failure, usage = episode.failure, episode.usage
    ended = episode.ended_at
    return (
        episode.id,
        episode.run_id,
        episode.task_digest,
        episode.trial,
        episode.index,
        episode.status.value,
        plain(episode.task_id),
        plain(episode.cluster),
        None if episode.seed is None else str(episode.seed),
        episode.started_at,
        episode.ended_at,
        episode.steps,
        _number(episode.total_reward),
        usage.prompt,
        usage.completion,
        usage.cached,
        usage.reasoning,
        usage.cost_usd,
        usage.calls,
        episode.retries,
        episode.events,
        None if failure is None else failure.cause.value,
        None if failure is None else failure.boundary.value,
        None if failure is None else json_text(failure),
        json_text(episode.terminal_info),
        *outcome(episode, episode.scores, primary),
        usage.total,
        None if ended is None else ended - episode.started_at,
        labels_text(episode.labels),
        None,
        None,
    )


def episode_from(row: Sequence[Any], scores: tuple[Score, ...] = ()) -> Episode:
    """Return the episode of a row in the order of the table's columns."""
    return Episode(
        id=row[0],
        run_id=row[1],
        task_digest=row[2],
        trial=row[3],
        index=row[4],
        status=EpisodeStatus(row[5]),
        task_id=row[6],
        cluster=row[7],
        seed=None if row[8] is None else int(row[8]),
        started_at=row[9],
        ended_at=row[10],
        steps=row[11],
        total_reward=math.nan if row[12] is None else row[12],
        usage=Usage(*row[13:19]),
        retries=row[19],
        events=row[20],
        failure=None if row[23] is None else _failures.decode(row[23]),
        terminal_info=_objects.decode(row[24]),
        labels=labels_from(row[29]),
        scores=scores,
    )


def labels_text(labels: Mapping[str, str]) -> str | None:
    """Return the labels of a task as JSON text; None where it has none."""
    return json_text({plain(name): plain(value) for name, value in labels.items()}) if labels else None


def labels_from(text: str | None) -> dict[str, str]:
    """Return the labels that a row holds."""
    return _labels.decode(text) if text else {}


def score_rows(episode_id: str, run_id: str, scores: Sequence[Score]) -> list[tuple[Any, ...]]:
    """Return the rows of scores: the last of each name, NaN as missing with that cause."""
    named = {plain(score.name): score for score in scores}
    return [
        (
            episode_id,
            name,
            run_id,
            _number(score.value),
            _missing(score),
            score.worst,
            plain(score.explanation),
        )
        for name, score in named.items()
    ]


def score_from(name: str, value: float | None, missing: str | None, worst: object, explanation: str) -> Score:
    """Return the score of these columns."""
    return Score(name, value, None if missing is None else Cause(missing), bool(worst), explanation)


def _number(value: float | None) -> float | None:
    # SQLite turns NaN into NULL by itself; doing it here makes both dialects equal.
    return None if value is None or value != value else float(value)  # noqa: PLR0124


def _missing(score: Score) -> str | None:
    if score.missing is not None:
        return score.missing.value
    return Cause.VALUE_UNUSABLE.value if score.value is not None and _number(score.value) is None else None
