"""Environments of a guest that our agents play step by step."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, Problem
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment, JudgeModel, Observation, Step
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.space import Space, parse_space
from mesocosm.core.task import Task
from mesocosm.environments.answers import JSON, no_oracle
from mesocosm.environments.contract import Contract
from mesocosm.environments.scoring import field_score, reward_score
from mesocosm.environments.seeds import seed_count, seed_tasks
from mesocosm.guests.benchmark import MOST_DEATHS, GuestBenchmark
from mesocosm.guests.messages import OriginalSample
from mesocosm.guests.opponent import Opponent
from mesocosm.guests.process import GuestProcess

REWARD = "reward"
MORE = "scores"
"""Key in the last info: further scores of the episode by name."""
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
    def info(self) -> BenchmarkInfo:
        """Facts that the guest tells; the metric is the mean reward unless it declares others."""
        info = super().info
        if self.described.roles:
            roles = {"technique_id": "multi-agent", "params": {"roles": list(self.described.roles)}}
            info = msgspec.structs.replace(info, vow={"techniques": [roles]})
        return info if info.metrics else msgspec.structs.replace(info, metrics=(MEAN_REWARD,), discovers=False)

    def scripted(self, episodes: Sequence[Mapping[str, Any]]) -> list[OriginalSample]:
        """Let the bare loop of the library play recorded actions (`seed` or `row`, `actions`). Blocks.

        Raises UsageError if the source cannot be loaded, EpisodeError if the guest fails.
        """
        _ = self.described
        return self._original(episodes=episodes)

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
        info = episode.terminal_info
        given = info.get(MORE)
        more: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        own = [name for name in more if name not in names]
        return [
            *(reward_score(name, episode) if name == REWARD else field_score(name, name, info) for name in names),
            *(field_score(name, name, more) for name in own),
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
    """One episode in the guest. Implements core.ports.Environment and core.abilities.Opposed.

    If the process of the guest ends, the actions so far are played once more: alone in a second guest, which tells
    whether this episode is what ends it, then beside the others. Equal seeds and actions give the same game.
    """

    def __init__(self, benchmark: SteppedGuest, task: Task, episode_id: str, trial: int) -> None:
        self._benchmark = benchmark
        self._task = task
        self._id = episode_id
        self._trial = trial
        self._guest: GuestProcess | None = None
        self._asked: list[tuple[str, dict[str, Any]]] = []
        self._told: Mapping[str, Any] = {}
        self._notes: list[str] = []
        self._rival: Opponent | None = None

    def oppose(self, opponent: JudgeModel) -> None:
        """Let this model play the opponent, where the guest asks for one."""
        self._rival = Opponent(opponent, self._benchmark.info, self._benchmark.contract)

    async def reset(self) -> Observation:
        """Make the environment in the guest and start it with the seed of its task."""
        self._guest = await self._benchmark.ready()
        place = None if self._benchmark.described.tasks is None else self._task.row
        told = await self._ask("reset", task=self._task.id, place=place, trial=self._trial, seed=self._task.seed)
        if told.get("rival"):
            told = await self._opposed(told)
        return msgspec.structs.replace(_observation(told, dict(told.get("info") or {})), notes=self._noted())

    async def step(self, action: Any) -> Step:
        """Apply one action, and those of the opponent that follow it."""
        told = await self._ask("step", action=action)
        if told.get("rival"):
            told = await self._opposed(told)
        try:
            return Step(
                _observation(told),
                float(told.get("reward") or 0.0),
                bool(told.get("terminated")),
                bool(told.get("truncated")),
                dict(told.get("info") or {}),
                notes=self._noted(),
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
        if guest is not None:
            await self._left(guest)

    async def _left(self, guest: GuestProcess) -> None:
        if guest.alive:
            with contextlib.suppress(EpisodeError):
                await guest.ask("leave", episode=self._id)

    async def _opposed(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Let the opponent act until it is the agent's turn or the game is over; return what the agent sees then."""
        if self._rival is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, "the guest waits for an opponent, and nobody plays one here")
        reward = float(told.get("reward") or 0.0)
        while told.get("rival"):
            seat = str((told.get("info") or {}).get("active_role", ""))
            action = await self._rival.act(seat, _observation(told))
            told = await self._ask("step", action=action)
            reward += float(told.get("reward") or 0.0)
        fouls = {"opponent_malformed": self._rival.malformed} if self._rival.malformed else {}
        return {**told, "reward": reward, "info": {**(told.get("info") or {}), **fouls}}

    async def _ask(self, do: str, **fields: Any) -> Mapping[str, Any]:
        if self._guest is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"{do} without a reset before it")
        try:
            told = await self._asked_of(self._guest, do, fields)
        except EpisodeError as error:
            if error.cause is not Cause.SANDBOX_FAILED:
                raise
            told = await self._again(do, fields, error)
        if do != "oracle":
            self._asked.append((do, fields))
            self._told = told
        if told.get("terminated") or told.get("truncated"):
            self._benchmark.finished()
        return told

    async def _asked_of(self, guest: GuestProcess, do: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        told = await guest.ask(do, episode=self._id, **fields)
        if not isinstance(told, Mapping):
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"the guest answered {do} with {told!r:.80}")
        return told

    async def _again(self, do: str, fields: Mapping[str, Any], error: EpisodeError) -> Mapping[str, Any]:
        """Ask once more after the guest ended. Raises EpisodeError: program_failed if this episode ends every guest."""
        for _ in range(MOST_DEATHS):
            if self._guest is not None:
                self._benchmark.died(self._guest, error)
            async with self._benchmark.alone:
                spare = await self._benchmark.spare()
                try:
                    await self._replayed(spare, do, fields)
                except EpisodeError as second:
                    if second.cause is not Cause.SANDBOX_FAILED:
                        raise
                    message = f"{second}, each time it played this episode"
                    raise EpisodeError(Cause.PROGRAM_FAILED, message, stderr=second.stderr) from second
                await self._left(spare)
            self._guest = await self._benchmark.ready()
            try:
                told = await self._replayed(self._guest, do, fields)
            except EpisodeError as third:
                if third.cause is not Cause.SANDBOX_FAILED:
                    raise
                error = third
                continue
            self._notes.append(f"{error}; the episode was played again up to its step {len(self._asked)}")
            return told
        raise error

    async def _replayed(self, guest: GuestProcess, do: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Play everything so far in another guest, then ask. Raises EpisodeError if the game went on differently."""
        told: Mapping[str, Any] = {}
        for before, given in self._asked:
            told = await self._asked_of(guest, before, given)
        if told != self._told:
            message = "the guest ended, and the same actions with the same seed gave something else in a new one"
            raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, message)
        return await self._asked_of(guest, do, fields)

    def _noted(self) -> tuple[str, ...]:
        notes, self._notes = tuple(self._notes), []
        return notes


def _observation(told: Mapping[str, Any], info: dict[str, Any] | None = None) -> Observation:
    return Observation(
        told.get("observation"),
        str(told.get("content_type") or JSON),
        told.get("system_prompt"),
        info=info or {},
        legal=tuple(map(str, told.get("legal") or ())),
    )
