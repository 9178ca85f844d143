"""Comparisons of runs as documents, cached until the runs change."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.engine.comparison.pair import PairedContrast
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair, chosen, compare_runs, going_on
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.documents import run_summary
from mesocosm.server.runs.reader import RunReader
from mesocosm.server.schemas.comparison import (
    BenchmarkComparison,
    ComparisonDocument,
    DensityCell,
    DifferenceDocument,
    RunPairDocument,
    TaskCountsDocument,
    TaskPairDocument,
)
from mesocosm.server.schemas.document import shortened
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.store.episodes import PlayedTask
from mesocosm.store.run_requests import RunRequest

Lookup = Callable[[str, Sequence[str]], Mapping[str, PlayedTask]]
"""Returns the episodes of a run for some tasks, by task digest."""

_comparisons = Cache[bytes](room=64 * 2**20)


def compare_visible(find: Callable[[str], VisibleRun], run_ids: Sequence[str], metric: str) -> bytes:
    """Return a ComparisonDocument of runs as JSON. Raises UsageError for runs that cannot be compared."""
    read: dict[str, VisibleRun] = {}

    def record_of(run_id: str) -> Run:
        run = find(run_id)
        read[run.id] = run
        return run.record

    runs = chosen(record_of, run_ids)

    def make() -> bytes:
        reader = RunReader(*read.values())
        code = _code([read[run.id] for run in runs])
        document = _document(compare_runs(reader.score_rows, runs, metric), code, reader.played)
        return document.__pydantic_serializer__.to_json(document)

    if any(map(going_on, runs)):
        return make()
    # Every change of a run's scores also changes its record.
    key = digest_bytes(msgspec.json.encode([metric, [[run.view, run.record] for run in read.values()]]))
    return _comparisons.get(key, make)


def _code(runs: Sequence[VisibleRun]) -> list[DifferenceDocument]:
    """Return the commits of evaluations, if they differ and the caller sees all of the runs."""
    texts = [None if run.request is None else _commit(run.request) for run in runs]
    return [] if len(set(texts)) == 1 else [DifferenceDocument(field="commit", values=list(texts))]


def _commit(request: RunRequest) -> str:
    """Return the code of an evaluation in words; empty for other runs."""
    at = request.commit_id[:12] + ("+" if request.config.get("dirty") else "")
    return " ".join(filter(None, (request.branch, at, str(request.config.get("message", "")))))


def _document(found: RunComparison, code: list[DifferenceDocument], played: Lookup) -> ComparisonDocument:
    """Return a comparison as a document."""
    return ComparisonDocument(
        runs=[run_summary(run) for run in found.runs],
        differences=[
            *code,
            *(
                DifferenceDocument(field=one.field, values=list(map(shortened, one.values)))
                for one in found.differences
            ),
        ],
        benchmarks=[_benchmark(group, played) for group in found.groups],
    )


def _direction(metric: Metric | None) -> bool | None:
    if metric is None:
        return True
    return metric.higher_is_better if metric.directed else None


def _benchmark(group: ComparedRuns, played: Lookup) -> BenchmarkComparison:
    return BenchmarkComparison(
        benchmark=group.runs[0].benchmark,
        benchmark_title=group.runs[0].benchmark_title,
        metric="" if group.metric is None else group.metric.name,
        metrics=list(group.names),
        higher_is_better=_direction(group.metric),
        runs=[run.id for run in group.runs],
        scores=[None if score is None else MetricDocument.of(score) for score in group.scores],
        same_content=group.same_content,
        pairs=[_pair(pair, played) for pair in group.pairs],
        note=group.note,
    )


def _pair(pair: RunPair, played: Lookup) -> RunPairDocument:
    found = pair.contrast
    delta = found.delta
    return RunPairDocument(
        a=pair.a,
        b=pair.b,
        paired=found.paired,
        mean_a=found.mean_a,
        mean_b=found.mean_b,
        delta=delta.value,
        low=delta.low,
        high=delta.high,
        weak=delta.weak,
        level=delta.level,
        p_value=found.found.p_value,
        p_adjusted=pair.p_adjusted,
        test=found.found.test,
        method=delta.method,
        n_a=found.n_a,
        n_b=found.n_b,
        smallest_difference=found.smallest,
        winner=pair.winner,
        counts=TaskCountsDocument.of(found.counts),
        tasks=_tasks(pair, found, played),
        density=list(map(DensityCell.of, found.density)),
    )


def _tasks(pair: RunPair, found: PairedContrast, played: Lookup) -> list[TaskPairDocument]:
    digests = [task.digest for task in found.tasks]
    in_a, in_b = played(pair.a, digests), played(pair.b, digests)
    listed = []
    for task in found.tasks:
        a, b = in_a.get(task.digest), in_b.get(task.digest)
        either = a or b
        listed.append(
            TaskPairDocument(
                task_id=task.digest if either is None else either.task_id,
                task_digest=task.digest,
                a=task.a,
                b=task.b,
                flipped=task.flipped,
                episode_a=None if a is None else a.episode_id,
                episode_b=None if b is None else b.episode_id,
            )
        )
    return listed
