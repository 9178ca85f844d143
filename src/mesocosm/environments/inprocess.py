"""Environment classes run in this process, without HTTP: benchmark kind `python`.

Calls of an environment run on the event loop, so a blocking call delays all other episodes; the option
`{"threads": true}` runs each call in a thread. Classes are trusted: they are not isolated from the runner.
"""

import asyncio
import inspect
import logging
import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, MesocosmError, Problem, UsageError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observation, Step
from mesocosm.core.registry import import_reference
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.source import PREFIX, content_digest, reference_digest
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, parse_space
from mesocosm.core.task import Task
from mesocosm.environments.answers import JSON, no_oracle
from mesocosm.environments.contract import Contract
from mesocosm.environments.payload import PayloadError, describe, is_wrapped, jsonable, reward_payload, text_keys
from mesocosm.environments.scoring import field_score, reward_score
from mesocosm.environments.sdk import BaseEnv
from mesocosm.environments.seeds import seed_count, seed_tasks

REWARD = "reward"
MEAN_REWARD = Metric("mean_reward", REWARD, primary=True)
TRACEBACK_FRAMES = 12

_log = logging.getLogger(__name__)


class PythonEnvironmentOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `python`: `threads` runs each call in a thread."""

    threads: bool = False


def open_class(ref: BenchmarkRef) -> "ClassBenchmark":
    """Return the benchmark of the class that `ref.source` names, `package.module:Class` or `path/file.py:Class`.

    Raise UsageError if the reference cannot be imported, is not an environment class, or an option is invalid;
    InvalidInput if a declared space is invalid.
    """
    try:
        options = msgspec.convert(ref.options, PythonEnvironmentOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind 'python': {error}; known: threads") from error
    target = _imported(ref.source)
    if not isinstance(target, type) or not callable(getattr(target, "reset", None)):
        raise UsageError(
            f"{ref.source!r} is {describe(target)}; it must be a subclass of mesocosm.environments.sdk.BaseEnv"
        )
    return ClassBenchmark(target, threads=options.threads, reference=ref.source)


def _imported(source: str) -> Any:
    try:
        return import_reference(source)
    except MesocosmError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{source!r} cannot be imported: {type(error).__name__}: {error}") from error


class ClassBenchmark:
    """An environment class as a benchmark. Implements core.ports.Benchmark.

    Optional class attributes: `title`, `version`, `description`, `max_steps`, `metrics` (core.score.Metric; the score
    `reward` is the sum of rewards, any other score the field of that name in the last info; default: mean reward),
    `action_space` and `observation_space` (a core.space.Space or its JSON), and `tasks`, a class method that yields
    core.task.Task; `reset` then receives the keyword `task`. Without `tasks`, tasks are seeds.

    The digest is that of `core.source.content_digest`: it covers the source file of the class and the modules that it
    imports from beside it or from its package, but not installed packages.
    """

    def __init__(self, env_class: type[BaseEnv], *, threads: bool = False, reference: str = "") -> None:
        self._class = env_class
        self._threads = threads
        self._own_tasks: Callable[[], Iterable[Task]] | None = getattr(env_class, "tasks", None)
        self._contract = Contract(_space(env_class, "observation_space"), _space(env_class, "action_space"))
        self._parses = getattr(env_class, "parse_action", None) not in (None, BaseEnv.parse_action)
        self._info = _info(env_class, reference, parses=self._parses)
        self._scores = tuple(dict.fromkeys(metric.score for metric in self._info.metrics))

    @property
    def info(self) -> BenchmarkInfo:
        """Facts from the class attributes."""
        return self._info

    @property
    def action_space(self) -> Space | None:
        """The declared space of actions, or None."""
        return self._contract.action

    @property
    def observation_space(self) -> Space | None:
        """The declared space of observations, or None."""
        return self._contract.observation

    def count(self, selection: Selection) -> int:
        """Return the number of tasks that `selection` selects."""
        return seed_count(selection) if self._own_tasks is None else sum(1 for _ in self.tasks(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield seeds, or the tasks of the class: the first `count`, or those with a seed in `seeds`."""
        if self._own_tasks is None:
            yield from seed_tasks(selection)
            return
        wanted = None if selection.seeds is None else set(selection.seeds)
        left = math.inf if selection.count is None or wanted is not None else selection.count
        for task in self._own_tasks():
            if left <= 0:
                return
            if wanted is None or task.seed in wanted:
                left -= 1
                yield task

    async def open(self, notice: Callable[[str], None]) -> None:
        """Do nothing, because episodes share nothing."""

    async def environment(self, task: Task, episode_id: str) -> "ClassEnvironment":
        """Return the environment of one episode; its instance is created at reset."""
        params = {} if self._own_tasks is None else {"task": task}
        return ClassEnvironment(
            self._class, task.seed, params, contract=self._contract, parses=self._parses, threads=self._threads
        )

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return one score for each score name in the metrics: the reward, or a field of the last info."""
        return [
            reward_score(name, episode) if name == REWARD else field_score(name, name, episode.terminal_info)
            for name in self._scores
        ]

    async def close(self) -> None:
        """Do nothing, because episodes share nothing."""


class ClassEnvironment:
    """One instance of an environment class. Implements core.ports.Environment.

    Values that the instance returns are copied to plain JSON data, so that later changes of its state do not affect
    records.
    """

    __slots__ = ("_class", "_contract", "_env", "_params", "_parses", "_seed", "_threads")

    def __init__(
        self,
        env_class: type[BaseEnv],
        seed: int | None,
        params: Mapping[str, Any],
        *,
        contract: Contract,
        parses: bool,
        threads: bool,
    ) -> None:
        self._class = env_class
        self._seed = seed
        self._params = params
        self._contract = contract
        self._parses = parses
        self._threads = threads
        self._env: BaseEnv | None = None

    async def reset(self) -> Observation:
        """Create the instance and start it with the seed of its task."""
        returned = await self._call("reset", self._start)
        try:
            return self._first(returned)
        except PayloadError as error:
            raise self._invalid("reset", error) from error

    async def step(self, action: Any) -> Step:
        """Pass the action through `parse_action` and `step` of the instance."""
        env = self._live("step")
        result = await self._call("step", self._act if self._parses else env.step, action)
        try:
            return self._stepped(result, action)
        except PayloadError as error:
            raise self._invalid("step", error) from error

    async def oracle(self) -> Any:
        """Return the action from the class's `oracle`. Raise EpisodeError if it has none."""
        env = self._live("oracle")
        if getattr(type(env), "oracle", BaseEnv.oracle) is BaseEnv.oracle:
            raise no_oracle(self._class.__name__)
        action = await self._call("oracle", env.oracle)
        try:
            return plain(action)
        except PayloadError as error:
            raise self._invalid("oracle", error) from error

    async def close(self) -> None:
        """Close the instance; a failure is only logged, because the episode has ended anyway."""
        env, self._env = self._env, None
        if env is None or getattr(type(env), "close", BaseEnv.close) is BaseEnv.close:
            return
        try:
            await self._call("close", env.close)
        except EpisodeError as error:
            _log.warning("%s", error)

    async def _call(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            if self._threads and not inspect.iscoroutinefunction(function):
                result = _released(await asyncio.to_thread(_caught, function, *arguments))
            else:
                result = function(*arguments)
            return await result if hasattr(result, "__await__") else result
        except (Exception, SystemExit) as error:
            raise self._failure(method, error) from error

    def _start(self) -> Any:
        env = self._env = self._class()
        return env.reset(seed=self._seed, **self._params)

    def _act(self, action: Any) -> Any:
        env = self._live("step")
        return env.step(env.parse_action(action))

    def _live(self, method: str) -> BaseEnv:
        if self._env is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"{method} of {self._class.__name__} without a reset before it")
        return self._env

    def _first(self, returned: Any) -> Observation:
        content_type, prompt, info = JSON, None, {}
        if is_wrapped(returned):
            info = plain(text_keys(returned.get("info")))
            content_type = _content_type(returned.get("content_type") or JSON)
            prompt = _prompt(returned.get("system_prompt"))
            returned = returned["data"]
        data = plain(returned)
        return Observation(data, content_type, prompt, self._contract.observed(data), info)

    def _stepped(self, result: Any, action: Any) -> Step:
        try:
            shown, reward = result.observation, result.reward
            terminated, truncated = bool(result.terminated), bool(result.truncated)
        except AttributeError:
            raise PayloadError(
                f"{describe(result)}; it must be a StepResult(observation, reward, terminated, truncated, info)"
            ) from None
        data = plain(shown)
        info = getattr(result, "info", None)
        observation = Observation(
            data, _content_type(getattr(result, "content_type", JSON)), notes=self._contract.observed(data)
        )
        return Step(
            observation,
            reward_payload(reward),
            terminated,
            truncated,
            plain(text_keys(info)) if info else {},
            _prompt(getattr(result, "system_prompt", None)),
            self._contract.acted(action),
        )

    def _failure(self, method: str, error: BaseException) -> EpisodeError:
        if isinstance(error, EpisodeError):
            return error
        if isinstance(error, NotImplementedError) and method == "oracle":
            return no_oracle(self._class.__name__, str(error))
        what = f"{self._class.__name__}.{method}() failed: {type(error).__name__}: {error}"
        frames = "".join(traceback.format_exception(error, limit=-TRACEBACK_FRAMES))
        return EpisodeError(Cause.ENVIRONMENT_ERROR, what, detail=frames)

    def _invalid(self, method: str, error: PayloadError) -> EpisodeError:
        return EpisodeError(
            Cause.ENVIRONMENT_INVALID, f"{self._class.__name__}.{method}() returned a bad value: {error}"
        )


def plain(value: Any) -> Any:
    """Return `value` as plain JSON data that shares no mutable part with it. Raise PayloadError.

    Scalars and flat dicts of scalars, the usual case, are not converted through JSON text.
    """
    if _scalar(value):
        return value
    if type(value) is dict and all(type(key) is str and _scalar(item) for key, item in value.items()):
        return value.copy()
    return jsonable(value)


def _scalar(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is float:
        return math.isfinite(value)
    return kind is int or kind is bool or value is None


def _content_type(value: Any) -> str:
    if not isinstance(value, str):
        raise PayloadError(f"content_type must be text such as 'image/png', not {describe(value)}")
    return value


def _prompt(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise PayloadError(f"system_prompt must be text or None, not {describe(value)}")


@dataclass(frozen=True, slots=True)
class _Raised:
    """An exception of user code as a value, because futures reject StopIteration and replace TimeoutError."""

    error: BaseException


def _caught(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again by _released
        return _Raised(error)


def _released(outcome: Any) -> Any:
    if isinstance(outcome, _Raised):
        raise outcome.error
    return outcome


def _space(env_class: type, name: str) -> Space | None:
    declared = getattr(env_class, name, None)
    if declared is None or isinstance(declared, SpaceSpec | CompositeSpace):
        return declared
    problems: list[Problem] = []
    space = parse_space(declared, name, problems)
    errors = [problem for problem in problems if problem.severity == "error"]
    if space is None or errors:
        raise InvalidInput(f"class {env_class.__name__}", errors)
    return space


def _info(env_class: type[BaseEnv], reference: str, *, parses: bool) -> BenchmarkInfo:
    metrics = tuple(getattr(env_class, "metrics", ())) or (MEAN_REWARD,)
    wrong = next((metric for metric in metrics if not isinstance(metric, Metric)), None)
    if wrong is not None:
        raise UsageError(
            f"class {env_class.__name__}: `metrics` holds {describe(wrong)}; use mesocosm.core.score.Metric"
        )
    digest, module = _source(env_class, reference)
    return BenchmarkInfo(
        id=f"{module}:{env_class.__qualname__}",
        title=getattr(env_class, "title", env_class.__name__),
        version=str(getattr(env_class, "version", "1")),
        digest=digest,
        kind="python",
        metrics=metrics,
        description=getattr(env_class, "description", "") or inspect.getdoc(env_class) or "",
        max_steps=getattr(env_class, "max_steps", None),
        oracle=getattr(env_class, "oracle", BaseEnv.oracle) is not BaseEnv.oracle,
        malformed="pass" if parses else "ask",
    )


def _source(env_class: type, reference: str) -> tuple[str, str]:
    """Return digest and module name; for a class loaded from a file, the file's name without its directory."""
    module = env_class.__module__
    place = getattr(sys.modules.get(module), "__file__", None)
    by_path = place is not None and (module.startswith(PREFIX) or module == "__main__")
    digest = reference_digest(reference, env_class) if reference else content_digest(env_class)
    return digest, Path(place).stem if place is not None and by_path else module
