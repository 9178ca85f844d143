"""`bench plan`: for each benchmark, what is done, what is pending, and the expected cost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.render import money, table, tokens
from mesocosm.core.failure import Incompatible, MesocosmError
from mesocosm.core.ports import Parts
from mesocosm.core.run import Run
from mesocosm.engine import opening
from mesocosm.engine.group import GroupMember, opened
from mesocosm.engine.rerun_decision import RerunAction, RerunDecision, RerunPolicy, decide

if TYPE_CHECKING:
    from mesocosm.cli.command import CommonOptions
    from mesocosm.store import Store


REASONS = {
    "already_succeeded": "it was done before; --fresh runs it again",
    "latest_status_succeeded": "its latest attempt succeeded",
}
"""Readable words for the reasons of a skip."""


@dataclass(frozen=True, slots=True)
class BenchmarkForecast:
    """What would happen to one benchmark.

    `tokens` and `usd` are estimates for the pending episodes, from earlier episodes of the same benchmark; None if
    there are none.
    """

    benchmark: str
    model: str
    action: str
    reason: str
    planned: int = 0
    done: int = 0
    tokens: int | None = None
    usd: float | None = None

    @property
    def pending(self) -> int:
        """Number of episodes to be run."""
        return max(self.planned - self.done, 0)

    def document(self) -> dict[str, Any]:
        """Return the forecast as JSON."""
        return {
            "benchmark_id": self.benchmark,
            "model": self.model,
            "action": self.action,
            "reason": self.reason,
            "planned": self.planned,
            "done": self.done,
            "owed": self.pending,
            "expected_tokens": self.tokens,
            "expected_usd": self.usd,
        }


def forecast(members: Sequence[GroupMember], store: "Store | None", policy: RerunPolicy) -> list[BenchmarkForecast]:
    """Return what would happen to each member. Nothing is written, and no model is called."""

    async def all_of_them() -> list[BenchmarkForecast]:
        return [await _prospect(member, store, policy) for member in members]

    return asyncio.run(all_of_them())


async def _prospect(member: GroupMember, store: "Store | None", policy: RerunPolicy) -> BenchmarkForecast:
    name = f"{member.provider}/{member.model}"
    if member.spec is None:
        return BenchmarkForecast(member.benchmark, name, str(member.status), member.reason)
    try:
        async with opened(member.spec, member.seconds) as parts:
            return _of(member, name, parts, store, policy)
    except Incompatible as error:
        return BenchmarkForecast(member.benchmark, name, "incompatible", "; ".join(error.missing))
    except MesocosmError as error:
        return BenchmarkForecast(member.benchmark, name, "failed", str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code; one benchmark must not end the others
        return BenchmarkForecast(member.benchmark, name, "failed", f"it raised {type(error).__name__}: {error}")


def _of(member: GroupMember, name: str, parts: Parts, store: "Store | None", policy: RerunPolicy) -> BenchmarkForecast:
    assert member.spec is not None
    record = opening.new_run(member.spec, parts)
    decision = (
        decide(store, record.signature, policy) if store is not None else RerunDecision(RerunAction.RUN, "never run")
    )
    planned, done = record.counts.planned, 0
    if decision.action is not RerunAction.RUN:
        planned, done = _counts(decision, planned)
    pending = max(planned - done, 0)
    tokens, usd = _expected(record, store, pending)
    return BenchmarkForecast(member.benchmark, name, str(decision.action), decision.reason, planned, done, tokens, usd)


def _counts(decision: RerunDecision, planned: int) -> tuple[int, int]:
    run = decision.run
    if run is None:
        return planned, planned
    return run.counts.planned, run.counts.planned if decision.action is RerunAction.SKIP else run.counts.done


def _expected(record: Run, store: "Store | None", pending: int) -> tuple[int | None, float | None]:
    """Return tokens and cost of `pending` episodes, estimated from the newest suitable run of the benchmark."""
    if not pending:
        return 0, 0.0
    if store is None:
        return None, None
    runs = [run for run in store.runs.list(benchmark=record.benchmark, limit=50).items if run.counts.done]
    same_model = next((run for run in runs if run.model == record.model), None)
    other = same_model or next((run for run in runs if run.usage.calls and not run.model.startswith("builtin/")), None)
    if other is None:
        return None, None
    tokens = round(other.usage.total / other.counts.done * pending)
    cost = None if same_model is None else same_model.usage.cost_usd
    usd = None if cost is None else cost / other.counts.done * pending
    return tokens, usd


def tell(prospects: Sequence[BenchmarkForecast], chosen: "CommonOptions") -> None:
    """Print a plan."""
    from mesocosm.cli.command import plural

    several = len({one.model for one in prospects}) > 1
    rows = [
        [
            *([one.model] if several else []),
            one.benchmark,
            one.action,
            f"{one.done:,}/{one.planned:,}" if one.planned else "–",
            f"{one.pending:,}" if one.planned else "–",
            "–" if one.tokens is None else tokens(one.tokens),
            "–" if one.usd is None else money(one.usd),
        ]
        for one in prospects
    ]
    columns = [*(["model"] if several else []), "benchmark", "would", "done", "pending", "tokens", "cost"]
    first = len(columns) - 4
    table(columns, rows, chosen, right=tuple(range(first, first + 4)), whole=tuple(range(first)))
    click.echo()
    for benchmark, reason in dict.fromkeys((one.benchmark, one.reason) for one in prospects):
        click.echo(f"{benchmark}: {REASONS.get(reason, reason)}")
    running = [one for one in prospects if one.pending]
    known = [one.usd for one in running if one.usd is not None]
    cost = f"about {money(sum(known))}" if len(known) == len(running) else "cost unknown"
    if known and len(known) < len(running):
        cost = f"about {money(sum(known))} for {len(known)} of them, unknown for the rest"
    pending = plural(sum(one.pending for one in running), "episode")
    places = plural(len({one.benchmark for one in running}), "benchmark")
    models = f" with {plural(len({one.model for one in running}), 'model')}" if several and running else ""
    click.echo(f"\n{pending} pending in {places}{models}; {cost}")
