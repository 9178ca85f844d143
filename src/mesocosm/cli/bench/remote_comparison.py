"""`bench compare --remote`: two models on benchmarks that a server runs and compares."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from mesocosm.cli.bench import flags
from mesocosm.cli.bench.compare import model_of, write_comparison
from mesocosm.cli.bench.comparison_report import document, lines
from mesocosm.cli.bench.remote import RemoteMember, RemoteWork, model_of_server, prepared
from mesocosm.cli.bench.run import INTERRUPTED
from mesocosm.cli.command import options
from mesocosm.cli.gate_options import GateFlags
from mesocosm.cli.render import emit
from mesocosm.core.failure import UsageError
from mesocosm.core.group import RunGroup, stamped_id
from mesocosm.core.run import Run
from mesocosm.core.score import MetricResult
from mesocosm.engine.comparison.pair import PairedContrast, TaskCounts, TaskPair
from mesocosm.engine.comparison.runs import ComparedRuns, RunPair, adjusted, metrics_of
from mesocosm.server.runs.model_comparison import NONE, ModelComparison, Row, Side
from mesocosm.stats.interval import Interval, Method
from mesocosm.stats.significance import Significance

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.comparison import BenchmarkComparison, RunPairDocument


def compare_remote(given: Mapping[str, Any]) -> int:
    """Run benchmarks with two models on the server, print its comparison, and return the exit code."""
    gate = options().part(GateFlags)
    if gate.conditions or gate.junit or gate.markdown:
        raise UsageError(
            "--fail-if, --junit and --markdown do nothing with bench compare --remote; give conditions on the scores "
            "to bench run --remote"
        )
    comparison_id = stamped_id("cmp")
    requests: list[dict[str, Any]] = []
    members: list[list[RemoteMember]] = []
    for spec in (given["first"], given["second"]):
        provider, model = model_of(spec)
        request = flags.request_of(given, provider=provider, model=model)
        client, side = prepared(request, given, model_of_server(request), notes=not requests)
        requests.append(request.as_document())
        members.append(side)
    if RemoteWork(client, [*members[0], *members[1]]).run():
        return INTERRUPTED
    sides = tuple(_side(comparison_id, place, requests[place], members[place]) for place in range(2))
    found = ModelComparison(comparison_id, sides, _rows(client, sides))
    shown = document(found, time.time())
    path = None if given["out"] is None else write_comparison(shown, given["out"])
    if options().json:
        emit(shown)
    else:
        for line in lines(found):
            click.echo(line)
        if path is not None:
            click.echo(f"Wrote {path}")
    compared = any(row.pair is not None for row in found.rows)
    if not compared:
        click.echo("error: nothing could be compared: no benchmark has two runs with scores", err=True)
    return 0 if compared and not (found.failed or found.incompatible) else 1


def _side(comparison_id: str, place: int, request: dict[str, Any], members: Sequence[RemoteMember]) -> Side:
    group = RunGroup(id="", created_at=time.time(), request={**request, "side": "ab"[place]})
    results = [member.result(number, "", comparison_id) for number, member in enumerate(members)]
    runs = {result.run.id: result.run for result in results if result.run is not None}
    return Side(group, tuple(result.outcome for result in results), runs)


def _rows(client: "Client", sides: Sequence[Side]) -> tuple[Row, ...]:
    """Return a row for each benchmark, compared by the server; p values are adjusted over all of them."""
    rows, groups = [], []
    for outcome in sides[0].outcomes:
        a, b = (side.run(outcome.benchmark) for side in sides)
        other = sides[1].outcome(outcome.benchmark)
        status = str(outcome.status), NONE if other is None else str(other.status)
        rows.append(Row(outcome.benchmark, a, b, None, status))
        if a is not None and b is not None and a.id != b.id:
            (compared,) = client.runs.compare([a.id, b.id]).benchmarks
            groups.append((outcome.benchmark, _group(compared, (a, b))))
    found = dict(zip([name for name, _ in groups], adjusted([group for _, group in groups]), strict=True))
    return tuple(replace(row, group=found.get(row.benchmark)) for row in rows)


def _group(compared: "BenchmarkComparison", runs: tuple[Run, ...]) -> ComparedRuns:
    return ComparedRuns(
        runs=runs,
        metric=metrics_of(runs[0]).get(compared.metric),
        names=tuple(compared.metrics),
        scores=tuple(None if score is None else MetricResult(**score.model_dump()) for score in compared.scores),
        pairs=tuple(map(_pair, compared.pairs)),
        same_content=compared.same_content,
        note=compared.note,
    )


def _pair(pair: "RunPairDocument") -> RunPair:
    low = -math.inf if pair.low is None else pair.low
    high = math.inf if pair.high is None else pair.high
    delta = Interval(pair.delta, low, high, min(pair.n_a, pair.n_b), cast("Method", pair.method), pair.level, pair.weak)
    contrast = PairedContrast(
        paired=pair.paired,
        mean_a=pair.mean_a,
        mean_b=pair.mean_b,
        delta=delta,
        found=Significance(pair.p_value, pair.test),
        n_a=pair.n_a,
        n_b=pair.n_b,
        smallest=pair.smallest_difference,
        counts=TaskCounts(**pair.counts.model_dump()),
        tasks=tuple(TaskPair(task.task_digest, task.a, task.b, task.flipped) for task in pair.tasks),
        density=(),
        family=delta,
    )
    return RunPair(pair.a, pair.b, contrast, pair.p_adjusted, pair.winner)
