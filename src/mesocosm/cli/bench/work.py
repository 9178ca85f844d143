"""One invocation: its group, its members, the store for them, and the observers."""

import time
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mesocosm.benchmarks.catalogue import BenchmarkCatalogue
from mesocosm.cli.bench.request import BenchRequest, members, repository, unheeded
from mesocosm.cli.command import CommonOptions
from mesocosm.cli.progress import watcher
from mesocosm.cli.render import scored
from mesocosm.cli.results import open_results
from mesocosm.cli.session import hidden_values
from mesocosm.cli.signals import run_with_signals
from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, RunGroup, stamped_id
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import BENCHMARKS
from mesocosm.engine.group import GroupMember, GroupRunner, MemberResult
from mesocosm.engine.rerun_decision import RerunPolicy
from mesocosm.engine.session import Control

if TYPE_CHECKING:
    from mesocosm.store import Store


class BenchWork(AbstractContextManager["BenchWork"]):
    """The work that a command line requests, ready to run. Raises UsageError if it cannot work.

    Nothing is written to disk before `run`. `comparison` is the id of a comparison and the side that this work is of
    it.
    """

    def __init__(
        self,
        request: BenchRequest,
        catalogue: BenchmarkCatalogue,
        chosen: CommonOptions,
        *,
        force: bool = False,
        rerun_failed: bool = False,
        same_server: bool = False,
        comparison: tuple[str, str] = ("", ""),
    ) -> None:
        self._chosen = chosen
        self._closing = ExitStack()
        self._same_server = same_server
        self.policy = RerunPolicy(force, rerun_failed, request.limits.max_missing)
        group_id = stamped_id("rg")
        self.members: list[GroupMember] = members(request, catalogue, chosen.results().absolute() / group_id)
        self.notes = unheeded(request, catalogue)
        document = request.as_document()
        kept = Redactor(hidden_values(chosen)).value(document, dict.fromkeys(document))
        self.group = RunGroup(
            id=group_id,
            created_at=time.time(),
            request={**kept, **({"side": comparison[1]} if comparison[1] else {})},
            benchmarks=tuple(member.benchmark for member in self.members),
            repository=repository(Path.cwd()),
            comparison_id=comparison[0],
        )

    @cached_property
    def store(self) -> "Store":
        """The results; they are created if missing."""
        store = open_results(self._chosen)
        self._closing.callback(store.close)
        return store

    @cached_property
    def existing(self) -> "Store | None":
        """The results if they exist, otherwise None."""
        try:
            store = open_results(self._chosen, create=False)
        except UnknownName:
            return None
        self._closing.callback(store.close)
        return store

    def infos(self) -> list[BenchmarkInfo]:
        """Return the descriptions of the benchmarks; one that cannot be opened is left for the run to report."""
        found: list[BenchmarkInfo] = []
        for member in self.members:
            if member.spec is not None:
                with suppress(Exception):
                    found.append(BENCHMARKS.get(member.spec.benchmark.kind)(member.spec.benchmark).info)
        return found

    def run(self) -> tuple[list[MemberResult], bool]:
        """Run all pending work; return the results, and whether it was interrupted."""
        return run_with_signals(self._work)

    async def _work(self, control: Control, signals: Observer) -> list[MemberResult]:
        parallel = max((member.spec.parallel for member in self.members if member.spec), default=1)
        with watcher(self._chosen) as watching:
            started = _Started(signals)
            group = GroupRunner(
                self.group,
                self.store,
                self.policy,
                parallel=parallel,
                watch=lambda member: (watching, started),
                on_result=lambda result: watching.notice(_line(result)),
                secrets=hidden_values(self._chosen),
                same_server=self._same_server,
                executor=self._chosen.executor,
            )
            return await group.run(self.members, control)

    def refresh(self) -> Path:
        """Rewrite viewer_data.json and return its path."""
        from mesocosm.compat.viewer_data import write_viewer_data

        return write_viewer_data(self.store, self._chosen.results())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()


class _Started(Observer):
    """Tells the signal handling that a run has started, but not that it has ended: only the group ends."""

    def __init__(self, signals: Observer) -> None:
        self._signals = signals

    def run_started(self, progress: Progress) -> None:
        """Forward the event."""
        self._signals.run_started(progress)


def why_of(outcome: Outcome) -> str:
    """Return the reason of an outcome without the leading name of its benchmark."""
    return outcome.reason.removeprefix(f"{outcome.benchmark}: ")


def _line(result: MemberResult) -> str:
    outcome = result.outcome
    primary = result.run.primary if result.run is not None else None
    score = f" {scored(primary)}" if primary is not None else ""
    why = f" ({why_of(outcome)})" if outcome.reason else ""
    return f"{outcome.benchmark}: {outcome.status}{score}{why}"
