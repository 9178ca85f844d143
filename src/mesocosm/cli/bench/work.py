"""One invocation: its group, its members, the store for them, and the observers."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mesocosm.benchmarks.catalogue import BenchmarkCatalogue
from mesocosm.cli.bench.request import BenchRequest, members, repository, unheeded, unjudged
from mesocosm.cli.command import CommonOptions
from mesocosm.cli.progress import watcher
from mesocosm.cli.render import scored
from mesocosm.cli.results import open_results
from mesocosm.cli.session import hidden_values
from mesocosm.cli.signals import run_with_signals
from mesocosm.cli.viewer_link import ViewerLink, wanted
from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, RunGroup, stamped_id
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import SOURCES
from mesocosm.engine.group import GroupMember, GroupRunner, MemberResult, Resources, pooled
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
        self.chosen = chosen
        self._closing = ExitStack()
        self._same_server = same_server
        self.name = request.name.shown()
        self.policy = RerunPolicy(force, rerun_failed, request.limits.max_missing)
        group_id = stamped_id("rg")
        self.members: list[GroupMember] = members(request, catalogue, chosen.results().absolute() / group_id)
        self.notes = [*unheeded(request, catalogue), *unjudged(request, self.members)]
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
        store = open_results(self.chosen)
        self._closing.callback(store.close)
        return store

    @cached_property
    def existing(self) -> "Store | None":
        """The results if they exist, otherwise None."""
        try:
            store = open_results(self.chosen, create=False)
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
                    found.append(SOURCES.get(member.spec.benchmark.kind)(member.spec.benchmark).info)
        return found

    def run(self) -> tuple[list[MemberResult], bool]:
        """Run all pending work; return the results, and whether it was interrupted."""
        return run_with_signals(self._work)

    async def _work(self, control: Control, signals: Observer) -> list[MemberResult]:
        with watcher(self.chosen) as watching:
            return await self.runner(watching, signals, Resources(self.parallel)).run(self.members, control)

    @property
    def parallel(self) -> int:
        """The number of episodes at a time."""
        return max((member.spec.parallel for member in self.members if member.spec), default=1)

    def runner(
        self, watching: Observer, signals: Observer, resources: Resources, whose: str = "", *, linked: bool = True
    ) -> GroupRunner:
        """Return what runs the group with these resources; lines about its results begin with `whose` they are.

        `linked` says whether it may start the viewer.
        """
        link = ViewerLink(self.chosen, self.store, watching, f"/?group={self.group.id}")
        started = _Started(signals, link if linked and wanted(self.chosen) else None)
        return GroupRunner(
            self.group,
            self.store,
            self.policy,
            resources=resources,
            watch=lambda member: (watching, started),
            on_result=lambda result: watching.notice(f"{whose}{_line(result)}"),
            secrets=hidden_values(self.chosen),
            same_server=self._same_server,
            executor=self.chosen.executor,
        )

    def refresh(self) -> Path:
        """Rewrite viewer_data.json and return its path."""
        from mesocosm.compat.viewer_data import write_viewer_data

        return write_viewer_data(self.store, self.chosen.results())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()


def run_together(works: Sequence[BenchWork]) -> tuple[list[list[MemberResult]], bool]:
    """Run works that differ in their models: for each benchmark those of all models at once.

    Return the results of each, and whether they were interrupted. With an executor that plays episodes elsewhere, where
    they are not counted over several runs, the works run one after the other.
    """
    if works[0].chosen.executor == "local":
        return run_with_signals(partial(_together, works))
    played: list[list[MemberResult]] = []
    interrupted = False
    for work in works:
        results, interrupted = work.run()
        played.append(results)
        if interrupted:
            break
    return played, interrupted


async def _together(works: Sequence[BenchWork], control: Control, signals: Observer) -> list[list[MemberResult]]:
    parallel = max(work.parallel for work in works)
    members = pooled([work.members for work in works], parallel)
    resources = Resources(parallel)
    controls = [Control() for _ in works]

    def halt(reason: str, grace: float) -> None:
        for one in controls:
            one.stop(reason, grace)

    control.halt = halt
    with watcher(works[0].chosen) as watching:
        runners = [
            work.runner(watching, signals, resources, f"{work.name}: ", linked=work is works[0]) for work in works
        ]
        tasks = [
            asyncio.create_task(runner.run(own, one))
            for runner, own, one in zip(runners, members, controls, strict=True)
        ]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Started(Observer):
    """Tells the signal handling that a run has started, but not that it has ended: only the group ends.

    The first one starts the viewer, if one is wanted.
    """

    def __init__(self, signals: Observer, link: ViewerLink | None) -> None:
        self._signals = signals
        self._link = link

    def run_started(self, progress: Progress) -> None:
        """Forward the event."""
        self._signals.run_started(progress)
        if self._link is not None:
            self._link.run_started(progress)
            self._link = None


def why_of(outcome: Outcome) -> str:
    """Return the reason of an outcome without the leading name of its benchmark."""
    return outcome.reason.removeprefix(f"{outcome.benchmark}: ")


def _line(result: MemberResult) -> str:
    outcome = result.outcome
    primary = result.run.primary if result.run is not None else None
    score = f" {scored(primary)}" if primary is not None else ""
    why = f" ({why_of(outcome)})" if outcome.reason else ""
    return f"{outcome.benchmark}: {outcome.status}{score}{why}"
