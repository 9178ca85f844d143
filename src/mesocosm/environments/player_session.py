"""Episodes of any environment for one player outside of a run, one after the other: what its servers share."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.ports import Benchmark, Environment, Observation, Step
from mesocosm.core.run import Selection
from mesocosm.core.space import Space, SpaceSpec, SpaceType, action_schema, deviations, json_schema
from mesocosm.core.task import Task

ACTION = "action"
"""The field that holds an action which is no object."""
METADATA = "metadata"
"""A field that clients of OpenEnv add to every action."""
_NAMED = 5
_MOST_TASKS = 100_000
_MOST_SEED = 2**31


class InvalidAction(Exception):
    """An action, or a parameter of a reset, is not what the environment declares; `problems` names each deviation."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class NotPlaying(Exception):
    """There is no episode to act in: none has begun, or it is over."""


class ActionForm:
    """Actions as objects: `schema` is their JSON Schema.

    The fields of an action that is an object are passed directly; any other action is the field `action`.
    """

    def __init__(self, space: Space | None, *, checked: bool = True) -> None:
        self._space = space
        self._checked = checked
        whole = {} if space is None else json_schema(space)
        self.direct = whole.get("type") == "object" and bool(whole.get("properties"))
        if self.direct:
            self.schema: dict[str, Any] = whole
        elif space is None:
            self.schema = {"type": "object", "properties": {ACTION: {}}, "required": [ACTION]}
        else:
            self.schema = action_schema(space)
            self.schema["properties"].pop("reasoning")

    def action(self, fields: Mapping[str, Any]) -> Any:
        """Return the action in an object. Raises InvalidAction."""
        known = self.schema["properties"]
        given = {name: value for name, value in fields.items() if name != METADATA or name in known}
        if self.direct:
            action: Any = given
        elif ACTION not in given:
            raise InvalidAction([f"{ACTION}: is missing"])
        elif further := sorted(given.keys() - {ACTION}):
            raise InvalidAction([f"{name}: is not a field of an action" for name in further[:_NAMED]])
        else:
            action = given[ACTION]
        space = self._space
        if isinstance(space, SpaceSpec) and space.type is SpaceType.DISCRETE and isinstance(action, int):
            # Choices are texts, and many clients send a number where the text is one.
            action = str(action) if not isinstance(action, bool) else action
        if space is not None and self._checked and (problems := deviations(space, action, limit=_NAMED)):
            raise InvalidAction([f"{ACTION}: {one}" if not self.direct else one for one in problems])
        return action


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What a reset or an action led to. `reward` is None after a reset; `info` has the facts of the environment."""

    observation: Observation
    reward: float | None = None
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] | None = None
    system_prompt: str | None = None

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class PlayerSession:
    """One player of an opened benchmark. Calls wait for each other. Close it at the end."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.form = ActionForm(benchmark.action_space, checked=benchmark.info.malformed != "pass")
        self.episode_id: str | None = None
        self.seed: int | None = None
        self.steps = 0
        self.total_reward = 0.0
        self._environment: Environment | None = None
        self._over = False
        self._lock = asyncio.Lock()

    @property
    def playing(self) -> bool:
        """Whether an episode is going on."""
        return self._environment is not None and not self._over

    @property
    def steps_left(self) -> int | None:
        """Actions before the environment's limit; None without one."""
        most = self.benchmark.info.max_steps
        return None if most is None else max(most - self.steps, 0)

    def state(self) -> dict[str, Any]:
        """Return where the episode stands."""
        return {
            "episode_id": self.episode_id,
            "step_count": self.steps,
            "seed": self.seed,
            "total_reward": self.total_reward,
            "done": self._over,
        }

    async def reset(self, seed: int | None = None, episode_id: str | None = None) -> MoveResult:
        """End the episode that goes on, start another, and return its first observation.

        Without a seed one is drawn. Raises InvalidAction for a seed without a task, EpisodeError.
        """
        async with self._lock:
            await self._end()
            task = _task(self.benchmark, seed)
            self.episode_id, self.seed = episode_id or new_id(), task.seed
            self.steps, self.total_reward, self._over = 0, 0.0, False
            environment = self._environment = await self.benchmark.environment(task, self.episode_id)
            try:
                first = await environment.reset()
            except EpisodeError:
                await self._end()
                raise
            return MoveResult(first, info=first.info or None, system_prompt=first.system_prompt)

    async def step(self, fields: Mapping[str, Any]) -> MoveResult:
        """Apply the action in an object and return what it led to. Raises InvalidAction, NotPlaying, EpisodeError."""
        return await self.act(self.form.action(fields))

    async def act(self, action: Any) -> MoveResult:
        """Apply an action of the environment. Raises NotPlaying, EpisodeError."""
        async with self._lock:
            if self._environment is None:
                raise NotPlaying("no episode has begun; reset first")
            if self._over:
                raise NotPlaying(f"the episode is over after {self.steps} steps; reset begins another")
            step = await self._environment.step(action)
            self.steps += 1
            self.total_reward += step.reward
            cut = self.steps_left == 0 and not (step.terminated or step.truncated)
            self._over = step.terminated or step.truncated or cut
            return _played(step, cut=cut)

    async def close(self) -> None:
        """End the episode that goes on."""
        async with self._lock:
            await self._end()

    async def _end(self) -> None:
        environment, self._environment = self._environment, None
        if environment is not None:
            await environment.close()


def _played(step: Step, *, cut: bool) -> MoveResult:
    prompt = step.observation.system_prompt if step.system_prompt is None else step.system_prompt
    info = {**step.info, "reason": "step_limit"} if cut else step.info
    return MoveResult(step.observation, step.reward, step.terminated, step.truncated or cut, info or None, prompt)


def _task(benchmark: Benchmark, seed: int | None) -> Task:
    """Return the task of a seed, or one that is drawn. Raises InvalidAction, UsageError."""
    drawn = random.randrange(_MOST_SEED) if seed is None else seed
    if (found := next(benchmark.tasks(Selection(seeds=(drawn,))), None)) is not None:
        return found
    if seed is not None:
        raise InvalidAction([f"seed: there is no task with seed {seed}"])
    tasks = [task for task, _ in zip(benchmark.tasks(Selection()), range(_MOST_TASKS), strict=False)]
    if not tasks:
        raise UsageError(f"{benchmark.info.id} has no tasks")
    return random.choice(tasks)
