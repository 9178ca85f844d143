"""Every part that can be replaced, as a protocol. Read this file and you know the seams of the house.

Two neighbours belong to it: core.proxy (models for foreign programs) and core.entry (what a journal is given).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.event import Event, Kind
from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.run import LeaseOwner, Run, Selection
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage

# What can be run


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an environment shows; `notes` name deviations from its contract, `info` is what a reset says besides."""

    data: Any = None
    content_type: str = "application/json"
    system_prompt: str | None = None
    notes: tuple[str, ...] = ()
    info: dict[str, Any] = {}


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an environment answers to an action."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = {}
    system_prompt: str | None = None
    notes: tuple[str, ...] = ()


class Environment(Protocol):
    """The world of one episode. Calls come one at a time; every failure is a core.failure.EpisodeError."""

    async def reset(self) -> Observation:
        """Start the episode with its task's seed."""
        ...

    async def step(self, action: Any) -> Step:
        """Apply one action (any JSON value)."""
        ...

    async def oracle(self) -> Any:
        """Return the best next action. Raises EpisodeError when this environment offers none."""
        ...

    async def close(self) -> None:
        """Give the episode's resources back; never raises."""
        ...


class Benchmark(Protocol):
    """A named, versioned thing that can be run: tasks, how to run one, how to score it.

    Registered by kind; the factory gets a BenchmarkRef. It is a context: `open` starts what all episodes share (an
    adapter process), `close` stops all of it.
    """

    @property
    def info(self) -> BenchmarkInfo:
        """Facts that hold before `open`."""
        ...

    @property
    def action_space(self) -> Any:
        """The core.space.Space of actions, None where actions are free text."""
        ...

    @property
    def observation_space(self) -> Any:
        """The core.space.Space of observations, or None."""
        ...

    def count(self, selection: Selection) -> int:
        """Return how many tasks `selection` picks."""
        ...

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the picked tasks, lazily and always in the same order."""
        ...

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all episodes share; `notice` takes lines for people. Raises MesocosmError."""
        ...

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the world of one episode; nothing is sent to it yet."""
        ...

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an episode that ended in the ordinary way."""
        ...

    async def close(self) -> None:
        """Stop what `open` started, with all its children."""
        ...


@runtime_checkable
class Growing(Protocol):
    """A benchmark whose info says `growing`: more tasks are found while it is played."""

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        """Yield the tasks of one repetition lazily; those that an earlier one leads to follow it."""
        ...


@runtime_checkable
class Warns(Protocol):
    """A benchmark or a model that knows of something that makes the numbers of a run doubtful."""

    def warnings(self) -> Sequence[str]:
        """Return what readers of the numbers must know. Asked when everything has been played; it may read files."""
        ...


@runtime_checkable
class Pausable(Protocol):
    """A benchmark that lends what it holds to others while nothing can be played."""

    def pause(self, paused: bool) -> None:
        """Note that an endpoint which the run needs does not answer, or that all of them do again."""
        ...


class Model(Protocol):
    """An endpoint that answers. One call of `ask` is one try: the engine repeats, waits and records."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    async def check(self) -> None:
        """Verify before a run that the model can answer. Raises EpisodeError or UsageError with the remedy."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer. Raises EpisodeError with a cause of the model boundary."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class Context(Protocol):
    """What the engine hands to an agent for one episode. Everything done through it is recorded and limited."""

    task: Task
    episode_id: str
    trial: int
    info: BenchmarkInfo
    action_space: Any
    observation_space: Any
    capabilities: Capabilities
    settings: ModelSettings
    malformed: int
    """Replies without a valid action that the agent passed to the environment as they stood; the agent counts them."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended, by the environment or by a limit."""
        ...

    @property
    def program(self) -> bool:
        """Whether a program behind the environment plays the whole episode: see `hand_over`."""
        ...

    @property
    def steps(self) -> int:
        """Actions taken so far."""
        ...

    @property
    def steps_left(self) -> int | None:
        """Actions left before the step limit; None without one."""
        ...

    async def reset(self) -> Observation:
        """Start the environment."""
        ...

    async def step(self, action: Any, *, reasoning: str = "", role: str = "") -> Step:
        """Act. After it, look at `over`."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model, with retries and budgets. The request's view is filled in by the engine."""
        ...

    async def hand_over(self) -> Step:
        """Let the program behind the environment play the whole episode; its model calls are recorded and limited."""
        ...

    def record(self, kind: Kind, payload: Any) -> None:
        """Write an event of the agent's own."""
        ...

    def warn(self, message: str) -> None:
        """Write a warning into the trace and into the run's list of distinct warnings."""
        ...


class Agent(Protocol):
    """The system under test around a model."""

    async def play(self, context: Context) -> None:
        """Play one episode to its end. Any exception that leaves is a failure of the agent."""
        ...


# Where it runs


@runtime_checkable
class Process(Protocol):
    """A started foreign process with everything that it started."""

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        ...

    @property
    def returncode(self) -> int | None:
        """Exit code once it ended."""
        ...

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr."""
        ...

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        ...

    async def stop(self, grace: float = 5.0) -> None:
        """End the whole process tree, politely for `grace` seconds."""
        ...


class Sandbox(Protocol):
    """A place where foreign programs run."""

    async def start(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> Process:
        """Start `command` (never a shell) in `cwd`. Raises EpisodeError with cause sandbox_failed."""
        ...


class Planned(msgspec.Struct, frozen=True):
    """One pending episode: its task, repetition and place in the plan."""

    task: Task
    digest: str
    trial: int
    index: int


class Executor(Protocol):
    """A place where episodes run: this process now, a cluster by the same protocol.

    It plays pending episodes with the given parts (or with its own, opened elsewhere from `run.spec`) and hands every
    outcome to the journal. A key whose worker died is simply played again: only the journal makes it finished.
    """

    async def execute(self, run: Run, pending: Iterator[Planned], parts: "Parts", journal: "Journal") -> None:
        """Play until nothing is pending or `stop` was called. Raises RunAborted, InfrastructureError."""
        ...

    def stop(self, reason: str, grace: float = 5.0) -> None:
        """Take no new episodes; cancel the running ones after `grace` seconds. They stay pending."""
        ...


# What is kept


class Journal(Protocol):
    """The single writer of a run: entries are committed in groups, in order, and the heartbeat is kept."""

    def write(self, entry: Entry) -> None:
        """Take an entry, at once. Raises InfrastructureError when writing has failed before."""
        ...

    async def room(self) -> None:
        """Wait until the queue is short enough to take more. Raises InfrastructureError."""
        ...

    async def drain(self) -> None:
        """Wait until everything taken so far is durable. Raises InfrastructureError."""
        ...

    async def close(self) -> None:
        """Drain and stop the heartbeat."""
        ...


class Page(msgspec.Struct, frozen=True):
    """A page of a listing with the next cursor. `partial`: the time was used up, and more may follow the cursor."""

    items: tuple[Any, ...]
    cursor: str | None = None
    partial: bool = False


class ScoreRow(NamedTuple):
    """One score with what statistics need to know of its episode."""

    task: str
    cluster: str
    trial: int
    name: str
    value: float | None
    missing: str | None
    worst: bool


class ResultRow(NamedTuple):
    """A finished episode in short: `score` and `outcome` are those of the score that the primary metric reads.

    The outcome is scored, worst, missing or skipped. `failure` is the cause that the episode failed for, `missing` the
    one that its score is missing for. `duration` is in seconds, `labels` JSON text.
    """

    task: str
    cluster: str
    score: float | None
    outcome: str | None
    failure: str | None
    missing: str | None
    duration: float | None
    labels: str | None


class RunStore(Protocol):
    """Runs, as the engine needs them."""

    def add(self, run: Run, *, alone: bool = False) -> Run:
        """Insert a run; return it with its attempt number. `alone`: RunLeased while another process plays the same."""
        ...

    def get(self, run_id: str) -> Run:
        """Return a run by id or unique prefix. Raises UnknownName with a suggestion."""
        ...

    def latest(self, signature: str) -> Run | None:
        """Return the newest run of an experiment; None when it was never run."""
        ...

    def finished(self, signature: str) -> Iterator[Run]:
        """Yield the runs of an experiment that finished, the newest first."""
        ...

    def save(self, run: Run, holder: LeaseOwner | None = None, *, terms: bool = False) -> None:
        """Write the state of a run, with `terms` its spec and info too. RunLeased unless `holder` has the run."""
        ...

    def save_terms(self, run: Run) -> None:
        """Write spec, info and provenance of a run anew."""
        ...

    def request_stop(self, run_id: str) -> None:
        """Request that the process that works on a run stops it."""
        ...


class LeaseStore(Protocol):
    """Which process works on which run."""

    def owner(self) -> LeaseOwner:
        """Return what identifies this process."""
        ...

    def active(self, run: Run) -> bool:
        """Return whether a living process works on a run."""
        ...

    def take(self, run_id: str, holder: LeaseOwner) -> None:
        """Lease a run to this process; removes what an interrupted process left unfinished. Raises RunLeased."""
        ...

    def release(self, run_id: str, holder: LeaseOwner) -> None:
        """Give a run back."""
        ...


class EpisodeStore(Protocol):
    """Episodes and their scores, as the engine needs them."""

    def list(self, run_id: str, *, cursor: str | None = None, limit: int = 200) -> Page:
        """Return episodes in the order of the plan."""
        ...

    def finished_keys(self, run_id: str) -> set[EpisodeKey]:
        """Return the keys of all finished episodes of a run."""
        ...

    def drop_failed(self, run_id: str) -> int:
        """Remove the failed episodes that are no valid measurement, so that they are pending again; return how many."""
        ...

    def reset_failed(self, run_id: str) -> int:
        """Make failed episodes that are no valid measurement pending again, keeping their record; return how many."""
        ...

    def settle_pending(self, run_id: str) -> int:
        """Make pending episodes that infrastructure failed final: failed, without a value; return how many."""
        ...

    def drop_unscored(self, run_id: str, score: str) -> int:
        """Remove episodes without a value of `score`, except those counted as worst; return how many."""
        ...

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of a run (only those called `name`), streamed from the database."""
        ...

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in the order of the plan; `primary` names the score that counts."""
        ...

    def save_scores(self, run_id: str, scored: Iterable[tuple[str, Sequence[Score]]]) -> None:
        """Replace the scores of the named episodes."""
        ...


class EntryStore(Protocol):
    """Whole runs, as exports read them."""

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of a run with pieces of their traces, those of one episode after each other."""
        ...


class TraceStore(Protocol):
    """Events of episodes."""

    def events(self, episode_id: str, *, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield the events of an episode from position `first` on, reading only the chunks needed."""
        ...


class GroupStore(Protocol):
    """Groups of runs and their outcomes."""

    def add(self, group: RunGroup) -> None:
        """Insert a group."""
        ...

    def finish(self, group_id: str, at: float) -> None:
        """Write when a group ended."""
        ...

    def save_outcome(self, outcome: Outcome) -> None:
        """Insert or replace the outcome of one benchmark."""
        ...

    def failed_to_begin(self, signature: str) -> bool:
        """Return whether an experiment was requested before, and no run could be made."""
        ...


class EngineStore(Protocol):
    """What the engine needs of the store. Methods block (SQL); the journal does not."""

    @property
    def runs(self) -> RunStore:
        """Runs."""
        ...

    @property
    def leases(self) -> LeaseStore:
        """Leases of runs."""
        ...

    @property
    def episodes(self) -> EpisodeStore:
        """Episodes."""
        ...

    @property
    def traces(self) -> TraceStore:
        """Traces."""
        ...

    @property
    def groups(self) -> GroupStore:
        """Groups."""
        ...

    def journal(
        self,
        run_id: str,
        holder: LeaseOwner,
        committed: Callable[[Sequence[Episode]], None],
        stop: Callable[[], None],
    ) -> Journal:
        """Open the writer of a run; `committed` and `stop` are called from its thread."""
        ...


class BlobStore(Protocol):
    """Content by digest."""

    def get(self, digest: str) -> Blob:
        """Return a blob. Raises UnknownName."""
        ...


# Who watches


class Progress(Protocol):
    """Where a run stands, always current; watchers read it at their own pace."""

    run: Run
    planned: int
    resumed: int
    done: int
    failed: int
    retries: int

    @property
    def usage(self) -> Usage:
        """What finished and running episodes used so far."""
        ...

    @property
    def running(self) -> int:
        """Episodes in progress."""
        ...

    @property
    def rate(self) -> float:
        """Episodes per second since this process started working."""
        ...

    @property
    def seconds_left(self) -> float | None:
        """Expected time until nothing is pending; None while unknown."""
        ...

    def score(self) -> MetricResult | None:
        """Return the primary metric over the episodes stored so far."""
        ...


class Observer:
    """Base of everything that watches a run; each method may be left as it is. Called on the event loop."""

    def run_started(self, progress: Progress) -> None:
        """The plan is made; episodes start now."""

    def episode_finished(self, episode: Episode) -> None:
        """An episode is over and durable."""

    def notice(self, message: str) -> None:
        """A line for people: an adapter started, a warning, a wait."""

    def run_finished(self, run: Run) -> None:
        """The run ended, for whatever reason."""


# What a run is put together from


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that a run is put together from, resolved; `judge` where graders ask another model than the run's."""

    benchmark: Benchmark
    model: Model
    agent: Agent
    judge: Model | None = None
