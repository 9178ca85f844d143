"""The state of one session: a period of work on one run by this process."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec

from mesocosm.core.backoff import Backoff
from mesocosm.core.cancellation import to_the_end
from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.ports import EngineStore, ExecutorOpener, Observer, Parts, UsesStore
from mesocosm.core.redact import SHORTEST, Redactor, secret_values
from mesocosm.core.registry import EXECUTORS, option_roles
from mesocosm.core.run import Limits, Run, RunSpec
from mesocosm.core.task import Task
from mesocosm.engine.executors.local import LocalExecutor
from mesocosm.engine.metrics import PARTS
from mesocosm.engine.plan import Repeats, part_sizes
from mesocosm.engine.pool import PoolShare
from mesocosm.engine.rerun_decision import other_server, servers

MOST_WARNINGS = 50
"""Maximum distinct warnings to store with a run; all of them are in the traces."""

RUN_BUDGETS = ("run_seconds", "run_tokens", "run_usd")

SHORT_SECRET = (
    f"a secret of this run has fewer than {SHORTEST} characters; it is hidden wherever these characters stand, also in "
    "ordinary words, so the record may be hard to read; use a longer secret"
)

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Control:
    """A handle to stop a run or group. Use it on the event loop of the work.

    `halt` stops the work in progress: it is called with the reason, and the seconds that running episodes have to end.
    """

    reason: str = ""
    halt: Callable[[str, float], None] | None = None

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Start no new episodes, cancel the running ones after `grace` seconds, and keep finished ones."""
        self.reason = self.reason or reason
        if self.halt is not None:
            self.halt(self.reason, grace)


@dataclass(slots=True)
class SessionOptions:
    """Options of this session; none of them is part of the experiment.

    `parallel` and the run budgets of `limits` replace the run's own; usage of earlier sessions still counts. `checked`:
    the model has already been checked. `waits`: a new run also waits for a server that does not answer at its start,
    because the address is known to be right. `alone`: a new run raises RunLeased while another process works on the
    same experiment. `retry_failed` repeats failures that say nothing about the agent, `retry_unscored` (the name of a
    score) episodes that a grader left without a value of it; neither repeats episodes that count as worst. A run is
    only resumed with the servers that answered it before, unless `same_server` declares that they have merely moved.
    `executor` says where episodes are played: a name of core.registry.EXECUTORS with what it takes after a colon.
    `share` is what the run has of a pool of runs that go at once, all of them played in this process.
    """

    retry_failed: bool = False
    parallel: int | None = None
    limits: Limits | None = None
    backoff: Backoff = field(default_factory=Backoff)
    secrets: Sequence[str] | None = field(default=None, repr=False)
    checked: bool = False
    waits: bool = False
    alone: bool = False
    retry_unscored: str = ""
    same_server: bool = False
    executor: str = "local"
    share: PoolShare | None = None


class RunMessages:
    """Sends messages of a run to its observers and collects its warnings, both redacted."""

    def __init__(self, run: Run, observers: Sequence[Observer], secrets: Sequence[str]) -> None:
        self.warnings = dict.fromkeys(run.warnings)
        self._secrets: set[str] = set()
        self.hide(secrets)
        self._run_id = run.id
        self._observers = list(observers)

    def hide(self, secrets: Collection[str]) -> None:
        """Hide further secrets from now on."""
        self._secrets.update(secrets)
        self.redactor = Redactor(self._secrets)
        if any(0 < len(secret) < SHORTEST for secret in secrets):
            # Not redacted: the redactor would hide the warning itself.
            self.warnings[SHORT_SECRET] = None

    def send(self, call: Callable[[Observer], None]) -> None:
        """Call every observer. One that fails is not called again, so that observers cannot harm the run."""
        for observer in list(self._observers):
            try:
                call(observer)
            except Exception:  # noqa: BLE001
                self._observers.remove(observer)
                _log.exception("observer %s failed and hears no more of run %s", observer, self._run_id)

    def notice(self, message: str) -> None:
        """Send a notice."""
        clean = self.redactor.text(message)
        self.send(lambda observer: observer.notice(clean))

    def warn(self, message: str) -> None:
        """Add a warning to the run, and send it if it is new."""
        if self.add_warning(message):
            self.notice(f"warning: {message}")

    def add_warning(self, message: str) -> bool:
        """Add a warning to the run; return whether it was added: it is new and there are fewer than `MOST_WARNINGS`."""
        message = self.redactor.text(message)
        new = message not in self.warnings and len(self.warnings) < MOST_WARNINGS
        if new:
            self.warnings[message] = None
        return new


class SessionState:
    """The state of one session. Raises UsageError if its executor cannot work.

    `away`: the server did not answer at its start. `opened`: the benchmark was started. `withdrawn` are the last
    attempts of episodes that infrastructure made fail and that are still pending, with their tasks. `alike`: execution
    stopped because the first episodes all failed for the same reason. `served` and `judge_served` are the names with
    which the servers of model and judge answered. `places` counts the episodes of this session by where they were
    played, if that is not this process.
    """

    def __init__(
        self,
        record: Run,
        parts: Parts,
        store: EngineStore,
        observers: Sequence[Observer],
        control: Control | None,
        options: SessionOptions | None,
    ) -> None:
        self.record = record
        self.parts = parts
        self.store = store
        self.control = control or Control()
        self.options = options or SessionOptions()
        given = self.options.secrets
        hidden = secret_values(os.environ) if given is None else given
        self.messages = RunMessages(record, observers, [*hidden, *declared_secrets(record.spec)])
        name, _, address = self.options.executor.partition(":")
        self.open_executor: ExecutorOpener = EXECUTORS.get(name)(address)
        if self.options.share is not None:
            self.open_executor = partial(LocalExecutor, share=self.options.share)
        self.lease_owner = store.leases.owner()
        if isinstance(self.open_executor, UsesStore):
            self.open_executor.use(store, self.lease_owner)
        self.started = time.monotonic()
        self.status_before = record.status
        self.away = False
        self.opened = False
        self.repeats = Repeats()
        self.withdrawn: dict[EpisodeKey, tuple[Task, Episode]] = {}
        self.alike = False
        self.served: dict[str, None] = {}
        self.judge_served: dict[str, None] = {}
        self.places: Mapping[str, int] = {}

    def spec(self) -> RunSpec:
        """Return the spec of the run with the options of this session."""
        spec, options = self.record.spec, self.options
        if options.parallel is not None:
            spec = msgspec.structs.replace(spec, parallel=options.parallel)
        if options.limits is not None:
            given = {name: getattr(options.limits, name) for name in (*RUN_BUDGETS, "outage_seconds", "max_missing")}
            spec = msgspec.structs.replace(spec, limits=msgspec.structs.replace(spec.limits, **given))
        return spec

    def other_server(self) -> str:
        """Return why the run cannot be resumed because another server answers than before, or an empty string."""
        if not self.record.counts.done or self.options.same_server:
            return ""
        changed = other_server(self.record, servers(self.parts), ", or start a new run")
        return f"run {self.record.id} cannot go on, it would mix two servers: {changed}" if changed else ""

    def count_parts(self) -> None:
        """Store how many planned episodes each metric of a part has, so that missing ones can be counted."""
        benchmark = self.parts.benchmark
        if found := part_sizes(benchmark, self.record.spec.selection, benchmark.info.metrics):
            self.record.info = {**self.record.info, PARTS: found}


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """Return the result of blocking work in a thread. It runs to its end even if this task is cancelled."""
    return await to_the_end(asyncio.to_thread(call, *arguments))


def declared_secrets(spec: RunSpec) -> Iterator[str]:
    """Yield the secrets declared in the benchmark's options; their variable names need not look like secrets."""
    options, roles = spec.benchmark.options, option_roles(spec.benchmark.kind)
    yield from (os.environ.get(str(name), "") for name in options.get(roles.secrets) or ())
    variables = options.get(roles.variables)
    yield from secret_values(variables if isinstance(variables, dict) else {})
