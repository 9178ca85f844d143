"""Benchmarks as documents: from the catalogue, from their stored runs, or from both."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from mesocosm.benchmarks.descriptor import Descriptor, Reference
from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.engine.comparison.leaderboard import RankedRun
from mesocosm.engine.comparison.runs import metrics_of
from mesocosm.server.runs.benchmark_index import Found
from mesocosm.server.runs.benchmark_overview import Benchmark, Extent
from mesocosm.server.schemas.benchmark import (
    BenchmarkDetail,
    BenchmarkEntry,
    BenchmarkSummary,
    BenchmarkVersion,
    Coverage,
    HistoryPoint,
    ParameterDocument,
    ReferenceDocument,
    RequirementDocument,
)
from mesocosm.server.schemas.document import instant, shortened
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.store.benchmarks import MeasuredRun


def benchmark_summary(runs: Benchmark | None, found: Found | None) -> BenchmarkSummary:
    """Return a benchmark as a row of a list, from its runs, the catalogue, or both."""
    return BenchmarkSummary(**_summary(runs, found))


def benchmark_detail(
    runs: Benchmark | None,
    found: Found | None,
    board: Iterable[tuple[RankedRun, int]] = (),
    history: Iterable[MeasuredRun] = (),
) -> BenchmarkDetail:
    """Return a benchmark in full; `board` gives for each run how many runs its model has with its agent."""
    extent = None if runs is None else runs.extent
    card = _card(runs)
    return BenchmarkDetail(
        **_summary(runs, found),
        info={} if runs is None else {name: shortened(value) for name, value in runs.latest.info.items()},
        all_versions=[
            BenchmarkVersion(
                digest=version.content.digest,
                version=version.content.version,
                first_run_at=instant(version.content.first_run_at),
                runs=version.runs,
            )
            for version in (() if runs is None else runs.versions)
        ],
        leaderboard=[entry(standing, number, extent) for standing, number in board],
        history=[reading(run, runs) for run in history],
        aliases=list(found.descriptor.aliases) if found else _texts(card.get("aliases")),
        agent=found.descriptor.agent if found else "",
        parameters=_parameters(found.descriptor) if found else [],
        requirements=_requirements(found) if found else [],
        references=_references(found, card),
    )


def entry(standing: RankedRun, number: int, extent: Extent | None = None) -> BenchmarkEntry:
    """Return a leaderboard entry; `number` is how many finished runs the model has with its agent."""
    run, chosen = standing.run, standing.run.spec.selection
    tasks = standing.metric.n_planned // max(chosen.trials, 1)
    return BenchmarkEntry(
        run_id=run.id,
        model=run.model,
        agent=run.agent,
        created_at=instant(run.created_at),
        metric=MetricDocument.of(standing.metric),
        cost_usd=run.usage.cost_usd,
        tokens=run.usage.total,
        rank=standing.rank,
        rank_last=standing.rank_last,
        unranked=standing.unranked,
        uncompared=standing.uncompared,
        runs=number,
        sample=extent is not None and extent.sampled(chosen.count, tasks),
        reference=standing.reference,
    )


def reading(run: MeasuredRun, runs: Benchmark | None = None) -> HistoryPoint:
    """Return the score of a run as a point of a history."""
    metric = run.metric
    same = runs is not None and run.digest == runs.versions[0].content.digest
    sample = runs.extent.sampled(run.count, run.tasks) if same and runs is not None else run.count is not None
    return HistoryPoint(
        run_id=run.run_id,
        model=run.model,
        agent=run.agent,
        created_at=instant(run.created_at),
        benchmark_digest=run.digest,
        value=None if metric is None else metric.value,
        low=None if metric is None else metric.low,
        high=None if metric is None else metric.high,
        weak=metric is not None and metric.weak,
        n_scored=0 if metric is None else metric.n_scored,
        n_planned=run.planned if metric is None else metric.n_planned,
        sample=sample and not (runs is not None and runs.extent.endless),
    )


def _summary(runs: Benchmark | None, found: Found | None) -> dict[str, Any]:
    card = _card(runs)
    facts = {name: str(card.get(name) or "") for name in ("source", "licence", "split", "unit")}
    if found is not None:
        described = found.descriptor
        facts = {name: getattr(described, name) for name in ("source", "licence", "split")}
        facts["unit"] = described.score.unit
    catalogue = {
        **facts,
        "origin": "" if found is None else found.known.origin,
        "lacking": None if found is None else found.lacking,
        "command": None if found is None else found.command,
        "hosted": found is not None and not (found.descriptor.command is not None or found.descriptor.manifest),
        "coverage": _coverage(runs),
    }
    return {**(_never(found.descriptor) if runs is None and found is not None else _of_runs(runs, found)), **catalogue}


def _never(described: Descriptor) -> dict[str, Any]:
    """Return the fields of a benchmark that was never run."""
    nothing: dict[str, Any] = dict.fromkeys(("last_run_at", "metric", "best", "floor", "ceiling"))
    return {
        **nothing,
        "id": described.id,
        "title": described.title,
        "version": described.version,
        "digest": "",
        "kind": described.kind,
        "description": described.description.strip(),
        "versions": 0,
        "runs": 0,
        "models": 0,
        "higher_is_better": described.score.higher_is_better,
    }


def _of_runs(runs: Benchmark | None, found: Found | None) -> dict[str, Any]:
    assert runs is not None
    content, metric = runs.versions[0].content, _primary(runs.latest)
    description = runs.latest.info.get("description", "") if found is None else found.descriptor.description.strip()
    return {
        "id": content.id,
        "title": content.title,
        "version": content.version,
        "digest": content.digest,
        "kind": content.kind,
        "description": description if isinstance(description, str) else "",
        "versions": len(runs.versions),
        "runs": runs.runs,
        "models": runs.models,
        "last_run_at": instant(runs.last_run_at),
        "metric": None if metric is None else metric.name,
        "higher_is_better": metric is None or metric.higher_is_better,
        "best": None if runs.best is None else entry(*runs.best, runs.extent),
        "floor": runs.floor,
        "ceiling": runs.ceiling,
    }


def _coverage(runs: Benchmark | None) -> Coverage:
    if runs is None or (not runs.extent.most and not runs.extent.endless):
        return Coverage(state="never", tasks=0, total=None if runs is None else runs.extent.whole)
    extent = runs.extent
    if extent.endless:
        return Coverage(state="endless", tasks=extent.most, total=None)
    whole = extent.whole is not None and extent.most >= extent.whole
    return Coverage(state="whole" if whole else "partly", tasks=extent.most, total=extent.whole)


def _card(runs: Benchmark | None) -> dict[str, Any]:
    card = {} if runs is None else runs.latest.info.get("card")
    return card if isinstance(card, dict) else {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _parameters(described: Descriptor) -> list[ParameterDocument]:
    return [
        ParameterDocument(
            name=name,
            type=parameter.type,
            help=parameter.help,
            default=parameter.default,
            choices=list(parameter.choices),
            minimum=parameter.minimum,
            maximum=parameter.maximum,
            aliases=list(parameter.aliases),
            sampling=name == described.sampling,
        )
        for name, parameter in described.parameters.items()
    ]


def _requirements(found: Found) -> list[RequirementDocument]:
    wanted = found.descriptor.requirement
    answers: tuple[str | None, ...] = found.each if found.each is not None else (None,) * len(wanted)
    return [
        RequirementDocument(kind=one.kind, name=one.name, why=one.why, unless=list(one.unless), lacking=lacking)
        for one, lacking in zip(wanted, answers, strict=True)
    ]


def _references(found: Found | None, card: dict[str, Any]) -> list[ReferenceDocument]:
    """Return published scores: those of the catalogue, otherwise those recorded with the latest run."""
    if found is not None:
        described = found.descriptor
        return [_reference(one, (described.score.unit, described.split)) for one in described.reference]
    listed = card.get("reference")
    kind = (str(card.get("unit")), str(card.get("split")))
    read = (_read_reference(one) for one in (listed if isinstance(listed, list) else []))
    return [_reference(one, kind) for one in read if one is not None]


def _read_reference(value: Any) -> Reference | None:
    try:
        return Reference.model_validate(value)
    except ValidationError:
        return None


def _reference(one: Reference, kind: tuple[str, str]) -> ReferenceDocument:
    return ReferenceDocument(
        label=one.label,
        value=one.value,
        unit=one.unit,
        split=one.split,
        source=one.source,
        published=one.published,
        comparable=(one.unit, one.split) == kind,
    )


def _primary(run: Run) -> Metric | None:
    return next((metric for metric in metrics_of(run).values() if metric.primary), None)
