"""Environments of a guest that our agents play step by step."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, Problem
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.space import Space, parse_space
from mesocosm.core.task import Task
from mesocosm.environments.answers import JSON, no_oracle
from mesocosm.environments.contract import Contract
from mesocosm.environments.scoring import field_score, reward_score
from mesocosm.environments.seeds import seed_count, seed_tasks
from mesocosm.guests.benchmark import GuestBenchmark
from mesocosm.guests.process import Guest

REWARD = "reward"
MEAN_REWARD = Metric("mean_reward", REWARD, primary=True)


class SteppedGuest(GuestBenchmark):
    """Implements core.ports.Benchmark: tasks are seeds, unless the guest has tasks of its own.

    The score `reward` is the sum of the rewards, any other one the field of that name in the last info.
    """

    _agent, _kind = "", "environment"

    @cached_property
    def contract(self) -> Contract:
        """The spaces that the guest declares. Raises InvalidInput."""
        return Contract(self._space("observation_space"), self._space("action_space"))

    @property
    def action_space(self) -> Any:
        """The declared space of actions, or None."""
        return self.contract.action

    @property
    def observation_space(self) -> Any:
        """The declared space of observations, or None."""
        return self.contract.observation

    @cached_property
    def info(self) -> Any:
        """Facts that the guest tells; the metric is the mean reward unless it declares others."""
        info = super().info
        return info if info.metrics else msgspec.structs.replace(info, metrics=(MEAN_REWARD,), discovers=False)

    def count(self, selection: Selection) -> int:
        """Return the number of tasks that `selection` selects."""
        return seed_count(selection) if self.described.tasks is None else super().count(selection)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield seeds, or the tasks of the guest."""
        return seed_tasks(selection) if self.described.tasks is None else super().tasks(selection)

    async def environment_of(self, task: Task, episode_id: str, trial: int) -> Environment:
        """Return the environment of one episode; its instance in the guest is made at reset."""
        return SteppedEpisode(self, task, episode_id, trial)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return one score for each score name in the metrics."""
        del task
        names = dict.fromkeys(metric.score for metric in self.info.metrics)
        return [
            reward_score(name, episode) if name == REWARD else field_score(name, name, episode.terminal_info)
            for name in names
        ]

    def _space(self, name: str) -> Space | None:
        declared = getattr(self.described, name)
        if declared is None:
            return None
        problems: list[Problem] = []
        space = parse_space(declared, name, problems)
        errors = [problem for problem in problems if problem.severity == "error"]
        if space is None or errors:
            raise InvalidInput(f"{self.kind.name}:{self.source}", errors)
        return space


class SteppedEpisode:
    """One episode in the guest. Implements core.ports.Environment."""

    def __init__(self, benchmark: SteppedGuest, task: Task, episode_id: str, trial: int) -> None:
        self._benchmark = benchmark
        self._task = task
        self._id = episode_id
        self._trial = trial
        self._guest: Guest | None = None

    async def reset(self) -> Observation:
        """Make the environment in the guest and start it with the seed of its task."""
        self._guest = await self._benchmark.ready()
        place = None if self._benchmark.described.tasks is None else self._task.row
        told = await self._ask("reset", task=self._task.id, place=place, trial=self._trial, seed=self._task.seed)
        return self._observation(told)

    async def step(self, action: Any) -> Step:
        """Apply one action."""
        told = await self._ask("step", action=action)
        try:
            return Step(
                self._observation(told),
                float(told.get("reward") or 0.0),
                bool(told.get("terminated")),
                bool(told.get("truncated")),
                dict(told.get("info") or {}),
                notes=self._benchmark.contract.acted(action),
            )
        except (TypeError, ValueError) as error:
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"a step of the guest cannot be read: {error}") from error

    async def oracle(self) -> Any:
        """Return the best next action. Raises EpisodeError if the guest knows none."""
        if not self._benchmark.info.oracle:
            raise no_oracle(self._benchmark.info.title)
        return (await self._ask("oracle"))["action"]

    async def close(self) -> None:
        """Close the environment in the guest."""
        guest, self._guest = self._guest, None
        if guest is not None and guest.alive:
            try:
                await guest.ask("leave", episode=self._id)
            except EpisodeError:
                return

    async def _ask(self, do: str, **fields: Any) -> Mapping[str, Any]:
        if self._guest is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"{do} without a reset before it")
        try:
            told = await self._guest.ask(do, episode=self._id, **fields)
        except EpisodeError as error:
            if error.cause is Cause.SANDBOX_FAILED:
                self._benchmark.died(self._guest, error)
            raise
        self._benchmark.finished()
        if not isinstance(told, Mapping):
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"the guest answered {do} with {told!r:.80}")
        return told

    def _observation(self, told: Mapping[str, Any]) -> Observation:
        data = told.get("observation")
        return Observation(
            data,
            str(told.get("content_type") or JSON),
            told.get("system_prompt"),
            self._benchmark.contract.observed(data),
            dict(told.get("info") or {}) if "reward" not in told else {},
        )
