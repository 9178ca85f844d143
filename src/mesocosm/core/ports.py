"""Protocols of all replaceable parts.

See also core.abilities (what parts may do besides), core.container (containers), core.proxy (models for foreign
programs) and core.entry (what a journal stores).
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from mesocosm.core.backoff import Backoff
from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.event import Event, Kind
from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.redact import Redactor
from mesocosm.core.run import BenchmarkRef, LeaseOwner, Run, Selection
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage

T = TypeVar("T")

# What can be run


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an environment shows. `notes` name deviations from its contract, for its author.

    `info` is additional data from a reset; that of a step is in Step. `legal` are the values of the action space that
    are allowed next, if not all of them are: other replies are malformed, and `builtin/random` draws from these.
    """

    data: Any = None
    content_type: str = "application/json"
    system_prompt: str | None = None
    notes: tuple[str, ...] = ()
    info: dict[str, Any] = {}
    legal: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """The response of an environment to an action."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = {}
    system_prompt: str | None = None
    notes: tuple[str, ...] = ()


class Environment(Protocol):
    """The environment of one episode. Calls do not overlap; every failure is a core.failure.EpisodeError."""

    async def reset(self) -> Observation:
        """Start the episode with its task's seed."""
        ...

    async def step(self, action: Any) -> Step:
        """Apply one action (any JSON value)."""
        ...

    async def oracle(self) -> Any:
        """Return the best next action. Raise EpisodeError if this environment has no oracle."""
        ...

    async def close(self) -> None:
        """Release the episode's resources; never raise."""
        ...


class Benchmark(Protocol):
    """A named, versioned set of tasks, with how to run and score them.

    A source opens it. `open` starts what all episodes share (an adapter process),
    `close` stops it.
    """

    @property
    def info(self) -> BenchmarkInfo:
        """Facts that are known before `open`."""
        ...

    @property
    def action_space(self) -> Any:
        """The core.space.Space of actions, None if actions are free text."""
        ...

    @property
    def observation_space(self) -> Any:
        """The core.space.Space of observations, or None."""
        ...

    def count(self, selection: Selection) -> int:
        """Return the number of tasks that `selection` selects."""
        ...

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the selected tasks, lazily and always in the same order."""
        ...

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all episodes share. `notice` is called with messages for the user. Raise MesocosmError."""
        ...

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one episode; nothing is sent to it yet."""
        ...

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an episode with a status in core.episode.SCOREABLE."""
        ...

    async def close(self) -> None:
        """Stop what `open` started, with all child processes."""
        ...


class BenchmarkSource(Protocol):
    """Opens benchmarks by name: what is registered as `gym` gets BenchmarkRef("gym", "Taxi-v3") for `gym:Taxi-v3`."""

    def __call__(self, ref: BenchmarkRef, /) -> Benchmark:
        """Return the benchmark, not opened; `ref.options` are its parameters.

        Raise UsageError, which names what there is, for a name or an option that it does not know.
        """
        ...


class JudgeModel(Protocol):
    """The model that graders ask: the run's judge, else the run's model."""

    @property
    def settings(self) -> ModelSettings:
        """Name and settings of the model."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model; the call is recorded in the graded episode and counts against the budgets."""
        ...


class Model(Protocol):
    """A model endpoint. One call of `ask` is one attempt; the engine retries, waits and records."""

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities."""
        ...

    async def check(self) -> None:
        """Verify before a run that the model can answer. Raise EpisodeError or UsageError with the remedy."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer. Raise EpisodeError with a cause of the model boundary."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class Context(Protocol):
    """What the engine passes to an agent for one episode. Everything done through it is recorded and limited."""

    task: Task
    episode_id: str
    trial: int
    info: BenchmarkInfo
    action_space: Any
    observation_space: Any
    capabilities: Capabilities
    settings: ModelSettings
    malformed: int
    """Replies without a valid action that the agent passed to the environment unchanged; the agent counts them."""

    @property
    def over(self) -> bool:
        """Whether the environment or a limit has ended the episode."""
        ...

    @property
    def program(self) -> bool:
        """Whether a program behind the environment runs the whole episode; see `hand_over`."""
        ...

    @property
    def steps(self) -> int:
        """Actions taken so far."""
        ...

    @property
    def steps_left(self) -> int | None:
        """Actions left before the step limit; None if there is no limit."""
        ...

    async def reset(self) -> Observation:
        """Start the environment."""
        ...

    async def step(self, action: Any, *, reasoning: str = "", role: str = "") -> Step:
        """Apply an action. Check `over` afterwards."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model, with retries and budgets. The engine fills in the request's view."""
        ...

    def address(self) -> AbstractAsyncContextManager[ProxyAddress]:
        """Open an address at which clients of the agent reach the model; calls there are recorded and limited."""
        ...

    async def reach(self, service: str, asked: Callable[[], Awaitable[T]]) -> T:
        """Return what a service of that name gives when it is `asked`; wait for one that is away as for a model.

        Waiting takes no time of the episode. Raises ServiceError if the service failed otherwise.
        """
        ...

    async def hand_over(self) -> Step:
        """Let the program behind the environment run the whole episode; its model calls are recorded and limited."""
        ...

    def record(self, kind: Kind, payload: Any) -> None:
        """Record an event of the agent."""
        ...

    def warn(self, message: str) -> None:
        """Write a warning into the trace and into the run's list of distinct warnings."""
        ...


class Agent(Protocol):
    """The system under test around a model."""

    async def play(self, context: Context) -> None:
        """Play one episode to its end. Any exception raised here is a failure of the agent."""
        ...


# Where it runs


@runtime_checkable
class Process(Protocol):
    """A started foreign process and its process tree."""

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        ...

    @property
    def returncode(self) -> int | None:
        """Exit code, None while the process runs."""
        ...

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr."""
        ...

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        ...

    async def stop(self, grace: float = 5.0) -> None:
        """Stop the whole process tree; kill it after `grace` seconds."""
        ...


class Sandbox(Protocol):
    """A place where foreign programs run."""

    async def start(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> Process:
        """Start `command` (without a shell) in `cwd`. Raise EpisodeError with cause sandbox_failed."""
        ...


class Planned(msgspec.Struct, frozen=True):
    """One pending episode: its task, repetition and position in the plan."""

    task: Task
    digest: str
    trial: int
    index: int


class CallBudget(Protocol):
    """What model calls of a run may still spend; `spent` is what they did, in earlier sessions too."""

    spent: Usage

    def charge(self, usage: Usage, model: str) -> None:
        """Add the usage of a call. Raise RunAborted if money is limited and the price of `model` is unknown."""
        ...

    def fits(self, tokens: int) -> bool:
        """Return whether `tokens` more fit into the budget."""
        ...

    def exhausted(self) -> str:
        """Return why no further episode may start, or an empty string."""
        ...

    def overspent(self) -> str:
        """Return why no further call may be made, or an empty string."""
        ...

    async def admitted(self, running: int) -> None:
        """Wait until another call may start beside `running` others, or none may any more (see `overspent`)."""
        ...


class ExecutorSession(Protocol):
    """The session that an executor plays episodes for. Use it on the event loop that the executor was opened on.

    `run` has the spec of this session. `served` and `judge_served` collect the names with which the servers of model
    and judge answer; `running` counts episodes in progress.
    """

    run: Run
    parts: "Parts"
    journal: "Journal"
    redactor: Redactor
    budget: CallBudget
    backoff: Backoff
    served: dict[str, None]
    judge_served: dict[str, None]
    running: int
    worker: str
    """The name of this process among those that play the run; empty if it is the only one."""

    @property
    def left(self) -> int | None:
        """Episodes that are not finished; None if unknown."""
        ...

    def ended(self, planned: "Planned", episode: Episode) -> None:
        """Take the result of a played episode; a cancelled one is pending. Raise RunAborted if the run must end."""
        ...

    def stop(self, reason: str, grace: float = ...) -> None:
        """Stop the run: no episode starts any more, and running ones are cancelled after `grace` seconds."""
        ...

    def pause(self, down: bool) -> None:
        """Report that a server does not answer, or that all of them answer again."""
        ...

    def notice(self, message: str) -> None:
        """Show a message to the user."""
        ...

    def outage(self, message: str) -> None:
        """Show a message about a server that does not answer or answers again, with the progress of the run."""
        ...

    def warn(self, message: str) -> None:
        """Add a warning to the run."""
        ...


class Executor(Protocol):
    """Plays the episodes of one session: in this process, in others, or on other machines.

    Registered by name. What is registered receives what follows the name after a colon, raises UsageError if that
    cannot work, and returns an ExecutorOpener. Whatever happens elsewhere, only what the session's journal has written
    is finished.
    """

    @property
    def parallel(self) -> int:
        """Maximum number of concurrent episodes."""
        ...

    async def run(self, pending: Iterator["Planned"]) -> None:
        """Play episodes until none is pending or the executor was stopped. Raise RunAborted, InfrastructureError."""
        ...

    def stop(self, grace: float) -> None:
        """Start no further episodes and cancel the running ones after `grace` seconds."""
        ...

    def keep(self) -> None:
        """Do what is due about twice a second, such as passing events of running episodes to the journal."""
        ...

    async def close(self) -> None:
        """End everything that the executor started."""
        ...

    @property
    def places(self) -> Mapping[str, int]:
        """Number of episodes by the place where they were played; empty if that is this process."""
        ...


ExecutorOpener = Callable[[ExecutorSession], Executor]


@runtime_checkable
class UsesStore(Protocol):
    """An ExecutorOpener that needs more of the store than a journal."""

    def use(self, store: "EngineStore", holder: LeaseOwner) -> None:
        """Take the store, and the process that works on the run. Raise UsageError if it cannot work there."""
        ...


# What is kept


class Journal(Protocol):
    """The single writer of a run. Commits entries in batches, in order, and maintains the heartbeat."""

    def write(self, entry: Entry) -> None:
        """Queue an entry without waiting. Raise InfrastructureError if an earlier write failed."""
        ...

    async def room(self) -> None:
        """Wait until the queue has room. Raise InfrastructureError."""
        ...

    async def drain(self) -> None:
        """Wait until everything queued so far is durable. Raise InfrastructureError."""
        ...

    async def close(self) -> None:
        """Drain and stop the heartbeat."""
        ...


class Page(msgspec.Struct, frozen=True):
    """One page of a listing and the cursor of the next page (None at the end).

    `partial`: the time limit of one request was reached before the page was full; there may be more after the cursor.
    """

    items: tuple[Any, ...]
    cursor: str | None = None
    partial: bool = False


class ScoreRow(NamedTuple):
    """One score, with the facts about its episode that statistics need."""

    task: str
    cluster: str
    trial: int
    name: str
    value: float | None
    missing: str | None
    worst: bool


class ResultRow(NamedTuple):
    """Summary of a finished episode: `score` and `outcome` belong to the score that the primary metric reads.

    The outcome is scored, worst, missing or skipped. `failure` is the cause of the episode's failure, `missing` the
    cause of the missing score. `duration` is in seconds; `labels` is JSON text; `trial` counts from 0.
    """

    task: str
    cluster: str
    score: float | None
    outcome: str | None
    failure: str | None
    missing: str | None
    duration: float | None
    labels: str | None
    trial: int = 0


class RunStore(Protocol):
    """Runs, as the engine needs them."""

    def add(self, run: Run, *, alone: bool = False) -> Run:
        """Insert a run; return it with its attempt number (1 + earlier runs of this signature).

        With `alone`, raise RunLeased while another live process works on the same experiment.
        """
        ...

    def get(self, run_id: str) -> Run:
        """Return a run by id or unique prefix. Raise UnknownName with a suggestion."""
        ...

    def latest(self, signature: str) -> Run | None:
        """Return the newest run of an experiment; None if it was never run."""
        ...

    def finished(self, signature: str) -> Iterator[Run]:
        """Yield the finished runs of an experiment, newest first."""
        ...

    def save(self, run: Run, holder: LeaseOwner | None = None, *, terms: bool = False) -> None:
        """Write status, metrics, times, error and warnings of a run; the journal writes the counters.

        With `terms` also write its spec and info, in the same transaction. Raise RunLeased if `holder` is given and
        does not (or no longer) hold the run's lease; UnknownName if the run is not stored.
        """
        ...

    def save_terms(self, run: Run) -> None:
        """Replace spec, info and provenance of a run."""
        ...

    def request_stop(self, run_id: str) -> None:
        """Request that the process working on a run stops it."""
        ...

    def rename(self, run: Run, name: str) -> None:
        """Rename a run. Raise UnknownName if it is not stored."""
        ...


class LeaseStore(Protocol):
    """Which process works on which run."""

    def owner(self) -> LeaseOwner:
        """Return the identity of this process."""
        ...

    def active(self, run: Run) -> bool:
        """Return whether a live process works on a run."""
        ...

    def take(self, run_id: str, holder: LeaseOwner) -> None:
        """Lease a run to `holder`; remove what an interrupted process left unfinished. Raise RunLeased."""
        ...

    def release(self, run_id: str, holder: LeaseOwner) -> None:
        """Release the lease of a run."""
        ...


class Seat(NamedTuple):
    """A seat in a run that a helper has taken; `proof`, which only the helper and the store know, says so."""

    id: str
    run_id: str
    proof: str

    def __repr__(self) -> str:
        return f"Seat(id={self.id!r}, run_id={self.run_id!r})"


class SeatMessage(NamedTuple):
    """A message between the process of a run and the helper in a seat; numbers start at 1 in each direction."""

    seat_id: str
    number: int
    body: bytes


class SeatNews(NamedTuple):
    """A seat that a helper called `name` has taken; one that has `left` may say why."""

    seat_id: str
    name: str
    left: bool
    reason: str


class Bell(Protocol):
    """Wakes a thread when there may be something to do."""

    def wait(self, seconds: float) -> None:
        """Wait until it rings, at most for `seconds`."""
        ...

    def ring(self) -> None:
        """Wake the thread that waits. Call it from any thread."""
        ...

    def close(self) -> None:
        """Stop listening. No thread may wait any more."""
        ...


class SeatStore(Protocol):
    """Seats in runs, which processes take that help to play them, and the messages of both sides.

    Calls may be repeated after a lost connection: the same messages are stored once.
    """

    def check(self) -> None:
        """Raise UsageError if this store has no seats."""
        ...

    def bell(self, name: str = "") -> Bell:
        """Return the bell of a run (for its process) or of a seat (for its helper) by its id."""
        ...

    def clear(self, run_id: str, holder: LeaseOwner) -> None:
        """Remove all seats of a run; helpers in them stop. Raise RunLeased if `holder` has not leased it."""
        ...

    def exchange(
        self,
        run_id: str,
        holder: LeaseOwner,
        wanted: int,
        posted: Sequence[SeatMessage],
        received: Mapping[str, int],
    ) -> tuple[Sequence[SeatNews], Sequence[SeatMessage]]:
        """Post messages to helpers; return the taken seats, and the messages of their helpers.

        Offer so many seats that `wanted` are free; raise RunLeased if `holder` has not leased the run. `received` is
        the number of the last message of a seat that need not come again. Seats whose lease is over are removed.
        """
        ...

    def withdraw(self, seat_ids: Collection[str]) -> None:
        """Remove seats; helpers in them stop."""
        ...

    def take(
        self, name: str, lease_s: float, *, run_id: str = "", without: Collection[str] = (), hosted: bool = False
    ) -> Seat | None:
        """Lease a free seat to a helper called `name`; None if there is none.

        With `run_id` only in that run, not in the runs of `without`, with `hosted` only in runs of a server.
        """
        ...

    def visit(
        self, seat: Seat, lease_s: float, posted: Sequence[SeatMessage], received: int
    ) -> Sequence[SeatMessage] | None:
        """Renew the lease of a seat, deliver messages, and return those to its helper after number `received`.

        Return None, and deliver nothing, if the seat is lost.
        """
        ...

    def leave(self, seat: Seat, reason: str) -> None:
        """Give a seat back, with the reason why the helper cannot go on, if there is one."""
        ...


class EpisodeStore(Protocol):
    """Episodes and their scores, as the engine needs them."""

    def get(self, reference: str) -> Episode:
        """Return an episode by id. Raises UnknownName."""
        ...

    def list(self, run_id: str, *, cursor: str | None = None, limit: int = 200) -> Page:
        """Return episodes in the order of the plan."""
        ...

    def finished_keys(self, run_id: str) -> set[EpisodeKey]:
        """Return the keys of all finished episodes of a run."""
        ...

    def drop_failed(self, run_id: str) -> int:
        """Remove failed episodes that are not valid measurements, so that they are pending again; return how many."""
        ...

    def reset_failed(self, run_id: str) -> int:
        """Make failed episodes that are not valid measurements pending again, keeping their record; return how many.

        Those whose own code failed (OF_CODE) before it asked a model are included.
        """
        ...

    def settle_pending(self, run_id: str) -> int:
        """Mark episodes pending after an infrastructure failure as failed, without a value; return how many."""
        ...

    def drop_unscored(self, run_id: str, score: str) -> int:
        """Remove episodes without a value of `score`, so that they are pending again; return how many.

        Those counted as worst stay: repeating an agent's failures until they pass would raise the result.
        """
        ...

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of a run, streamed; with `name` only the scores of that name."""
        ...

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in plan order; `primary` names the score of the primary metric."""
        ...

    def save_scores(
        self,
        run_id: str,
        scored: Iterable[tuple[str, Sequence[Score]]],
        labels: Mapping[str, Mapping[str, str | None]] | None = None,
    ) -> None:
        """Replace the scores of the named episodes; `labels` are set by episode, or removed where they are None."""
        ...

    def save_assessments(self, run_id: str, assessed: Sequence[Episode]) -> None:
        """Replace question, right answer, answer and reason of the given episodes."""
        ...


class EntryStore(Protocol):
    """Whole runs, for exports."""

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of a run with their trace chunks; entries of one episode are consecutive."""
        ...


class TraceStore(Protocol):
    """Events of episodes."""

    def events(self, episode_id: str, *, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield the events of an episode from position `first`, at most `limit`; read only the chunks needed."""
        ...


class GroupStore(Protocol):
    """Groups of runs and their outcomes."""

    def add(self, group: RunGroup) -> None:
        """Insert a group."""
        ...

    def finish(self, group_id: str, at: float) -> None:
        """Record the end of a group (`at` in UNIX seconds)."""
        ...

    def save_outcome(self, outcome: Outcome) -> None:
        """Insert or replace the outcome of one benchmark."""
        ...

    def failed_to_begin(self, signature: str) -> bool:
        """Return whether an experiment was requested before and no run could be created."""
        ...


class EngineStore(Protocol):
    """The store, as the engine needs it. Methods block (SQL); the journal does not."""

    @property
    def runs(self) -> RunStore:
        """Runs."""
        ...

    @property
    def leases(self) -> LeaseStore:
        """Leases of runs."""
        ...

    @property
    def seats(self) -> SeatStore:
        """Seats in runs for processes that help to play them."""
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
        """Open the writer of a run.

        `committed` is called with finished episodes once they are durable, `stop` when a stop was requested; both
        from the writer's thread.
        """
        ...


class BlobStore(Protocol):
    """Content by digest."""

    def get(self, digest: str) -> Blob:
        """Return a blob. Raise UnknownName."""
        ...


# Who watches


class Progress(Protocol):
    """Current progress of a run; observers may read it at any time."""

    run: Run
    planned: int
    resumed: int
    done: int
    failed: int
    retries: int

    @property
    def usage(self) -> Usage:
        """Usage of finished and running episodes so far."""
        ...

    @property
    def running(self) -> int:
        """Episodes in progress."""
        ...

    @property
    def rate(self) -> float:
        """Episodes per second since this process started working, without the time that it waited for a server."""
        ...

    @property
    def seconds_left(self) -> float | None:
        """Expected seconds until no episode is pending; None while unknown, as when a server does not answer."""
        ...

    def score(self) -> MetricResult | None:
        """Return the primary metric over the episodes stored so far."""
        ...


class Observer:
    """Base class of observers of a run; every method is optional. Called on the event loop."""

    def run_started(self, progress: Progress) -> None:
        """The plan is complete; episodes start now."""

    def episode_finished(self, episode: Episode) -> None:
        """An episode has finished and is stored durably."""

    def notice(self, message: str) -> None:
        """A message for the user: an adapter started, a warning, a wait."""

    def run_finished(self, run: Run) -> None:
        """The run ended, for any reason."""


# What a run consists of


@dataclass(frozen=True, slots=True)
class Parts:
    """The resolved parts of a run. `judge` is the model of the graders if it is not the run's model."""

    benchmark: Benchmark
    model: Model
    agent: Agent
    judge: Model | None = None
