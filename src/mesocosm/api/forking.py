"""Fork an episode: play its first steps again as recorded, then go on with another model, agent or action.

The environment is started with the same seed and given the recorded actions; what it shows must be what it showed then.
If it is not, the episode ends there. Nothing of a fork counts in the run that it comes from.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.api.experiments import Arguments, settled_model
from mesocosm.api.running import Work
from mesocosm.core.abilities import AsksJudge, HoldsSecrets
from mesocosm.core.entry import whole
from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ids import canonical_json, digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest
from mesocosm.core.ports import Agent, Benchmark, Context, Environment, JudgeModel, Model, Observation, Parts, Step
from mesocosm.core.proxy import Program
from mesocosm.core.registry import AGENTS, MODELS, SOURCES
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.engine.plan import planned
from mesocosm.models.inprocess import spoken

if TYPE_CHECKING:
    from mesocosm.store import Store

FORK = "fork"
"""The kind in the reference of a fork, and the key in the provenance of its run: run, episode, step it comes from."""
ASKED = 3
"""How often an agent may ask for a recorded step before it is said not to accept what was answered then."""
RECORDED = "recorded"
"""How a reply ended that no model gave in this run."""
_ENDED = frozenset({"length", "content_filter"})
"""How a reply ended that an agent may have acted upon."""
_UNFIT = frozenset({"rollout", "rows", "scan", "hosted"})
_RECORDED = Usage(calls=0, cost_usd=0.0)


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step of an episode: what was replied to the agent's calls, the action, and what came of it."""

    replies: tuple[ModelReply, ...]
    action: Any
    outcome: Mapping[str, Any]
    observation: Any


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded steps of an episode, and its first observation."""

    first: Any
    steps: tuple[RecordedStep, ...]


def recorded_steps(store: "Store", episode: Episode) -> Recorded:
    """Return what was recorded of an episode's steps, large content included."""
    first: Any = None
    steps: list[RecordedStep] = []
    replies: list[ModelReply] = []
    action: Any = None
    outcome: Mapping[str, Any] | None = None
    begun = False
    for event in store.traces.events(episode.id):
        payload = whole(event.payload, store.blobs)
        if not isinstance(payload, dict):
            continue
        if event.kind is Kind.MODEL_CALL and not payload.get("role"):
            replies.append(_reply(payload))
        elif event.kind is Kind.ACTION:
            action = payload.get("action")
        elif event.kind is Kind.STEP_RESULT:
            outcome = payload
        elif event.kind is Kind.OBSERVATION and not begun:
            first, begun = payload.get("data"), True
        elif event.kind is Kind.OBSERVATION and outcome is not None:
            steps.append(RecordedStep(tuple(replies), action, outcome, payload.get("data")))
            replies, outcome = [], None
    return Recorded(first, tuple(steps))


def _reply(payload: Mapping[str, Any]) -> ModelReply:
    calls = payload.get("tool_calls") or ()
    try:
        read = tuple(msgspec.convert(list(calls), list[ToolCall]))
    except (msgspec.ValidationError, TypeError):
        read = ()
    text, reasoning = (value if isinstance(value := payload.get(name), str) else "" for name in ("text", "reasoning"))
    ended = payload.get("finish_reason")
    return ModelReply(text, reasoning, read, ended if ended in _ENDED else RECORDED, _RECORDED)


class ForkModel:
    """Answers the first steps as recorded, then asks the model. Implements core.ports.Model.

    With `faithful` the agent is the recorded one, which gets the replies that it got then; another one gets the actions
    in the form in which it takes them.
    """

    def __init__(
        self, model: Model, steps: Sequence[RecordedStep], *, faithful: bool, edited: tuple[Any, ...] = ()
    ) -> None:
        self._model = model
        self._steps = [deque(step.replies if faithful else ()) for step in steps]
        self._actions = [*(step.action for step in steps), *edited]
        self._asked = [0 for _ in self._actions]

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model that goes on."""
        return self._model.capabilities

    async def check(self) -> None:
        """Check the model that goes on. Raises EpisodeError, UsageError."""
        await self._model.check()

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return what was recorded for the step of the request, or the model's answer. Raises EpisodeError."""
        step = 0 if request.view is None else request.view.step
        if step >= len(self._actions):
            return await self._model.ask(request)
        if step < len(self._steps) and self._steps[step]:
            return self._steps[step].popleft()
        self._asked[step] += 1
        if self._asked[step] > ASKED:
            raise EpisodeError(
                Cause.ENVIRONMENT_INVALID,
                f"the agent does not accept the action that is given for step {step + 1}; fork with the agent of the "
                "run, earlier, or with another action",
            )
        return ModelReply(spoken(self._actions[step], request), finish_reason=RECORDED, usage=_RECORDED)

    async def close(self) -> None:
        """Close the model that goes on."""
        await self._model.close()


class ForkEnvironment:
    """An environment whose first steps must be the recorded ones. Implements core.ports.Environment."""

    def __init__(self, world: Environment, recorded: Recorded) -> None:
        self._world = world
        self._recorded = recorded
        self._step = 0

    async def reset(self) -> Observation:
        """Start the episode. Raises EpisodeError if it does not start as recorded."""
        observation = await self._world.reset()
        _same(0, "the first observation", self._recorded.first, observation.data)
        return observation

    async def step(self, action: Any) -> Step:
        """Apply an action. Raises EpisodeError if it is a recorded one and something else comes of it."""
        place = self._step
        self._step += 1
        if place >= len(self._recorded.steps):
            return await self._world.step(action)
        before = self._recorded.steps[place]
        if not _equal(before.action, action):
            raise EpisodeError(
                Cause.ENVIRONMENT_INVALID,
                f"the agent does not repeat itself: at step {place + 1} it does {_short(action)} and did "
                f"{_short(before.action)}, so nothing goes on from there",
            )
        step = await self._world.step(action)
        for name in ("reward", "terminated", "truncated"):
            _same(place + 1, name, before.outcome.get(name), getattr(step, name))
        _same(place + 1, "the observation", before.observation, step.observation.data)
        return step

    async def oracle(self) -> Any:
        """Return the best next action. Raises EpisodeError if there is no oracle."""
        return await self._world.oracle()

    async def close(self) -> None:
        """Release the environment."""
        await self._world.close()


def _same(step: int, what: str, before: Any, now: Any) -> None:
    """Raise EpisodeError if something is not as it was recorded."""
    if not _equal(before, now):
        raise EpisodeError(
            Cause.ENVIRONMENT_INVALID,
            f"this environment does not repeat itself: step {step} differs ({what} was {_short(before)}, is "
            f"{_short(now)}), so nothing goes on from there",
        )


def _equal(before: Any, now: Any) -> bool:
    """Return whether a value is the recorded one, as JSON has it."""
    try:
        return before == now or canonical_json(before) == canonical_json(msgspec.to_builtins(now))
    except (TypeError, ValueError):
        return False


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


@dataclass(frozen=True, slots=True)
class ForkBenchmark:
    """One episode of a benchmark from a step on. Implements core.ports.Benchmark, AsksJudge and HoldsSecrets."""

    benchmark: Benchmark
    task: Task
    recorded: Recorded
    title: str
    inputs: Mapping[str, str]

    @property
    def info(self) -> BenchmarkInfo:
        """Facts about the fork. It is no run of the benchmark, and never compared with any."""
        given = self.benchmark.info
        return msgspec.structs.replace(
            given, id=f"{FORK}:{given.id}", title=self.title, inputs={**given.inputs, **self.inputs}, growing=False
        )

    @property
    def action_space(self) -> Any:
        """That of the benchmark."""
        return self.benchmark.action_space

    @property
    def observation_space(self) -> Any:
        """That of the benchmark."""
        return self.benchmark.observation_space

    def count(self, selection: Selection) -> int:
        """Return 1."""
        del selection
        return 1

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the task of the episode."""
        del selection
        yield self.task

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what the benchmark needs. Raises MesocosmError."""
        await self.benchmark.open(notice)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment. Raises EpisodeError for a program, which has no steps to begin with."""
        world = await self.benchmark.environment(task, episode_id)
        if isinstance(world, Program):
            await world.close()
            raise EpisodeError(
                Cause.ENVIRONMENT_INVALID, "a program plays this episode by itself, so there is no step to fork from"
            )
        return ForkEnvironment(world, self.recorded)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the benchmark's scores of the whole episode."""
        return await self.benchmark.grade(task, episode)

    async def grade_with(self, task: Task, episode: Episode, judge: JudgeModel) -> Sequence[Score]:
        """Do the same with a judge, if the benchmark asks one."""
        if isinstance(self.benchmark, AsksJudge):
            return await self.benchmark.grade_with(task, episode, judge)
        return await self.benchmark.grade(task, episode)

    def secrets(self) -> Sequence[str]:
        """Return the texts that must not be recorded."""
        return tuple(self.benchmark.secrets()) if isinstance(self.benchmark, HoldsSecrets) else ()

    async def close(self) -> None:
        """Stop what `open` started."""
        await self.benchmark.close()


@dataclass(frozen=True, slots=True)
class ForkAgent:
    """The agent, with a note of what it did not do itself. Implements core.ports.Agent."""

    agent: Agent
    note: str

    async def play(self, context: Context) -> None:
        """Play the episode. Raises what the agent raises."""
        context.record(Kind.LOG, {"message": self.note})
        await self.agent.play(context)


@dataclass(frozen=True, slots=True)
class ForkFrom:
    """Where a fork begins and what is different: `action` replaces the one of step `at`, if `edits`."""

    at: int
    agent: str = ""
    action: Any = None
    edits: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def fork_work(store: "Store", run: Run, episode: Episode, wanted: ForkFrom, given: Arguments) -> Work:
    """Return the work of playing an episode again up to a step, and on from there.

    Raises UsageError if that cannot be done: the episode has no such step, or its run cannot be opened here.
    """
    what = f"episode {episode.id} of run {run.id}"
    if run.spec.benchmark.kind in _UNFIT:
        raise UsageError(f"{what} cannot be forked: a run of kind {run.spec.benchmark.kind} has no steps to begin with")
    recorded = recorded_steps(store, episode)
    if not 1 <= wanted.at <= len(recorded.steps):
        have = f"it has {len(recorded.steps)}" if recorded.steps else "none is recorded"
        raise UsageError(f"{what} has no step {wanted.at} to fork at: {have}")
    kept = replace(recorded, steps=recorded.steps[: wanted.at - 1])
    model = given.model_settings(settled_model(given.model)) if given.model else run.spec.model
    agent = AgentSettings(wanted.agent) if wanted.agent else run.spec.agent
    changes = {"episode": episode.id, "at": str(wanted.at)}
    if wanted.edits:
        changes["action"] = digest(wanted.action)
    title = f"fork of {run.title}, {episode.task_id}, at step {wanted.at}"
    spec = msgspec.structs.replace(
        given.spec(BenchmarkRef(FORK, episode.id, {"at": wanted.at}), model, agent, selection=Selection()),
        name=given.name,
        judge=run.spec.judge,
        limits=msgspec.structs.replace(
            given.limits.stored(),
            episode_steps=run.spec.limits.episode_steps,
            episode_seconds=run.spec.limits.episode_seconds,
            episode_tokens=run.spec.limits.episode_tokens,
        ),
    )
    note = (
        f"steps 1 to {wanted.at - 1} are those of episode {episode.id}: what was answered there is answered again, and "
        "what the environment shows is compared"
        if wanted.at > 1
        else f"the first observation is compared with that of episode {episode.id}"
    )
    edited = (wanted.action,) if wanted.edits else ()

    def parts(spec: RunSpec) -> Parts:
        benchmark: Benchmark = SOURCES.get(run.spec.benchmark.kind)(run.spec.benchmark)
        task = _task(benchmark, run, episode)
        played: Agent = AGENTS.get(spec.agent.name)(spec.agent.options)
        judge = MODELS.get("*")(spec.judge) if spec.judge is not None else None
        asked = ForkModel(MODELS.get("*")(spec.model), kept.steps, faithful=not wanted.agent, edited=edited)
        forked = ForkBenchmark(benchmark, task, kept, title, changes)
        return Parts(forked, asked, ForkAgent(played, note), judge)

    facts = {FORK: {"run": run.id, "episode": episode.id, "step": wanted.at, "edited": wanted.edits}}
    return Work(spec, parts, facts=facts)


def _task(benchmark: Benchmark, run: Run, episode: Episode) -> Task:
    for item in planned(benchmark, run.spec.selection):
        if (item.digest, item.trial) == (episode.task_digest, episode.trial):
            return item.task
    raise UsageError(
        f"the task {episode.task_id} of run {run.id} is not there any more: {benchmark.info.id} has changed since"
    )


def open_fork(ref: BenchmarkRef) -> Benchmark:
    """Refuse to open a fork by a stored reference: it is made by its command. Raises UsageError."""
    raise UsageError(
        "a fork is continued by its command: mesocosm run fork "
        f"{ref.source} --at {ref.options.get('at', 'N')}, with the same model, agent and action"
    )
