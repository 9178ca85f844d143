"""Conversion of records to rows and back: the only module that knows which column stores what."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from sqlalchemy import RowMapping

from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import RULES, Cause, Failure
from mesocosm.core.run import Counts, LeaseOwner, Run, RunSpec, RunStatus, ScoreBins
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
_score_bins = msgspec.json.Decoder(ScoreBins)

SUMMARY = [column for column in runs.c if column.name != "info"]
"""Columns of a run in listings; `info` is wide and belongs to a single run's page."""

_TEXTS = ("name", "benchmark", "benchmark_title", "benchmark_version", "benchmark_digest", "model", "agent")
_SCORED, _WORST, _MISSING, _SKIPPED = "scored", "worst", "missing", "skipped"

BY_STATUS = ("completed", "truncated", "timeout", "failed")
BY_OUTCOME = ("passed", "not_passed", "errors")
"""Columns of a run that count its finished episodes, as in core.run.Counts."""


def json_text(value: Any) -> str:
    """Return `value` as JSON text."""
    return _encoder.encode(value).decode()


def plain(text: str) -> str:
    """Return `text` in a form that every database accepts: NUL and lone surrogates become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    if not text.isprintable():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    return text


def values_of(record: msgspec.Struct, **changed: Any) -> dict[str, Any]:
    """Return the fields of a record as column values, replaced by those in `changed`."""
    fields = msgspec.structs.asdict(record)
    return {name: plain(value) if isinstance(value, str) else value for name, value in fields.items()} | changed


def record_of(kind: type[Record], row: Mapping[Any, Any], **changed: Any) -> Record:
    """Return the record with fields from the columns of a row, replaced by those in `changed`."""
    names = kind.__struct_fields__
    return kind(**{name: row[name] for name in names if name not in changed and name in row}, **changed)


def search_text(run_id: str, fields: Sequence[str], tags: Sequence[str]) -> str:
    """Return the casefolded text that filters search, truncated so that reading it for all runs stays fast."""
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
    """Return the columns that change while a run is running, except those the journal counts."""
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
        **{name: getattr(counts, name) for name in (*BY_STATUS, *BY_OUTCOME)},
        **{f"{name}_tokens": getattr(usage, name) for name in ("prompt", "completion", "cached", "reasoning")},
        "cost_usd": usage.cost_usd or 0.0,
        "cost_unknown": int(usage.cost_usd is None),
        "model_calls": usage.calls,
    }


def run_from(fields: RowMapping) -> Run:
    """Return the run of a row that has all columns or those of SUMMARY."""
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
        bins=_score_bins.decode(fields["bins"]) if fields["bins"] else None,
    )


def counts_from(fields: RowMapping) -> Counts:
    """Return the number of planned episodes and of episodes by result from a run's row."""
    return Counts(*(fields[name] for name in ("planned", *BY_STATUS, *BY_OUTCOME)))


def usage_from(fields: RowMapping) -> Usage:
    """Return the usage in a run's row; its cost is None unless the cost of every episode is known."""
    return Usage(
        fields["prompt_tokens"],
        fields["completion_tokens"],
        fields["cached_tokens"],
        fields["reasoning_tokens"],
        None if fields["cost_unknown"] else fields["cost_usd"],
        fields["model_calls"],
    )


def holder_from(text: str | None) -> LeaseOwner | None:
    """Return the lease owner in a run's row, None if there is none."""
    return None if text is None else _holders.decode(text)


def primary_score(info: Mapping[str, Any], metrics: Sequence[MetricResult] = ()) -> str:
    """Return the name of the score that the primary metric of a run reads; empty if none is declared."""
    declared = _declared(info)
    if declared is not None:
        return plain(declared["score"])
    return next((plain(metric.name) for metric in metrics if metric.primary), "")


def primary_threshold(info: Mapping[str, Any]) -> float:
    """Return the value above which an episode of a run counts as passed; 0 if none is declared.

    It is the threshold of the primary metric if that is a pass rate, else of a pass rate of the same score (`pass_rate`
    before others), else of the primary metric itself. An inclusive threshold is lowered to the next smaller float.
    """
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
    # An imported run may contain anything here.
    metrics = info.get("metrics")
    return [metric for metric in metrics if isinstance(metric, dict)] if isinstance(metrics, list) else []


def read_metrics(info: str, metrics: str) -> tuple[dict[str, Any], tuple[MetricResult, ...]]:
    """Decode the columns `info` and `metrics` of a run, for `primary_score`."""
    return _objects.decode(info), _metrics.decode(metrics)


def outcome(episode: Episode, scores: Sequence[Score], primary: str) -> tuple[float | None, str | None]:
    """Return value and outcome (scored, worst, missing, skipped) of the score called `primary`.

    Without a name, use the only score. Both are None if the episode is not finished, or if there is no name and not
    exactly one score.
    """
    if episode.status not in FINISHED:
        return None, None
    return score_outcome(scores, primary)


def score_outcome(scores: Sequence[Score], primary: str) -> tuple[float | None, str | None]:
    """Return value and outcome of the score called `primary` of a finished episode, as `outcome` does."""
    if not primary and len(scores) != 1:
        return None, None
    # If several have the same name, the last one counts, as in score_rows.
    found = next((score for score in reversed(scores) if not primary or plain(score.name) == primary), None)
    if found is None:
        return None, _MISSING
    value = _number(found.value)
    if value is not None:
        return value, _SCORED
    if found.worst:
        return None, _WORST
    return None, _SKIPPED if found.missing is Cause.SKIPPED else _MISSING


def counted_as(episode: Episode, primary: str, threshold: float) -> str | None:
    """Return which counter of BY_OUTCOME an episode belongs to; None if it is unfinished, skipped or not scored."""
    value, found = outcome(episode, episode.scores, primary)
    if found == _SCORED and value is not None:
        return "passed" if value > threshold else "not_passed"
    if found in {_WORST, _MISSING}:
        return "not_passed" if found == _WORST else "errors"
    if found is None and episode.status is EpisodeStatus.FAILED:
        measured = episode.failure is not None and RULES[episode.failure.cause].valid
        return "not_passed" if measured else "errors"
    return None


def episode_row(episode: Episode, primary: str = "") -> tuple[Any, ...]:
    """Return the values of an episode in the order of the table's columns, without a checksum.

    `primary` names the score that the primary metric reads.
    """
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
    """Return the episode of a row with values in the order of the table's columns."""
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


ASSESSED = ("mistake", "behaviour", "why")
TASKED = ("input", "target", "reference", "answer")
"""Columns of an answer that are JSON text."""


def answer_row(episode: Episode) -> tuple[Any, ...] | None:
    """Return what an episode's task asked and what was answered as a row of `answers`.

    None if nothing is known but what its `terminal_info` says too.
    """
    words = [plain(text) or None for text in (episode.mistake, episode.behaviour, episode.why)]
    known = [getattr(episode, name) for name in TASKED]
    if not any(words) and (known == _said(episode.terminal_info) or all(value is None for value in known)):
        return None
    return (
        episode.id,
        episode.run_id,
        *words,
        *(None if value is None else plain(json_text(value)) for value in known),
    )


def answered(episode: Episode, row: Mapping[str, Any] | None) -> Episode:
    """Fill the facts of a row of `answers` into an episode, in place, and return it.

    Without a row, as of an older run, what its `terminal_info` says of them is taken.
    """
    if row is None:
        known = _said(episode.terminal_info)
    else:
        known = [None if row[name] is None else msgspec.json.decode(row[name]) for name in TASKED]
        episode.mistake, episode.behaviour, episode.why = (row[name] or "" for name in ASSESSED)
    episode.input, episode.target, episode.reference, episode.answer = known
    return episode


def _said(info: Mapping[str, Any]) -> list[Any]:
    """Return what the `terminal_info` of an episode says of input, target, reference and answer."""
    asked, expected = info.get("input"), info.get("expected", info.get("label"))
    # Of an environment, `answer` may be the word to guess.
    return [asked, expected, None, None if asked is None and expected is None else info.get("answer")]


def labels_text(labels: Mapping[str, str]) -> str | None:
    """Return the labels of a task as JSON text; None if it has none."""
    return json_text({plain(name): plain(value) for name, value in labels.items()}) if labels else None


def labels_from(text: str | None) -> dict[str, str]:
    """Return the labels in a row."""
    return _labels.decode(text) if text else {}


def score_rows(episode_id: str, run_id: str, scores: Sequence[Score]) -> list[tuple[Any, ...]]:
    """Return the rows of an episode's scores; if several have the same name, the last one counts.

    NaN is stored as missing, with the cause VALUE_UNUSABLE.
    """
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
    """Return the score with these column values."""
    return Score(name, value, None if missing is None else Cause(missing), bool(worst), explanation)


def _number(value: float | None) -> float | None:
    # SQLite converts NaN to NULL; doing it here makes both dialects equal.
    return None if value is None or value != value else float(value)  # noqa: PLR0124


def _missing(score: Score) -> str | None:
    if score.missing is not None:
        return score.missing.value
    return Cause.VALUE_UNUSABLE.value if score.value is not None and _number(score.value) is None else None
