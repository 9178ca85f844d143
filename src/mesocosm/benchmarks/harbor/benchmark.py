"""Benchmark kind `harbor`: a task folder or a folder of them; each task is one episode in a container."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.harbor.folder import CONFIG, TaskFolder
from mesocosm.benchmarks.harbor.options import HarborOptions, read_options
from mesocosm.benchmarks.harbor.reading import read_folders
from mesocosm.benchmarks.harbor.rewards import REWARD, primary
from mesocosm.benchmarks.harbor.terminal_bench import staged_context
from mesocosm.benchmarks.harbor.trial import CAUSE, REASON, REWARDS, HarborEnvironment, TrialSetting
from mesocosm.benchmarks.harbor.variables import host_values, lacking
from mesocosm.core.container import ContainerEngine, ContainerImage
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, Incompatible, UsageError
from mesocosm.core.folder import from_root
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.registry import OptionRoles, declares_options
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.sandboxes.containers.engines import open_engine
from mesocosm.store.lease_owner import this_process

KIND = "harbor"
_ENGINE_S = 20.0
_NAMED = 3


def _located(source: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the folder with its path from the root."""
    return from_root(source), dict(options)


@declares_options(OptionRoles(agent="agent", located=_located))
def open_harbor(ref: BenchmarkRef) -> "HarborBenchmark":
    """Return the benchmark of the folder `ref.source`. Raises UsageError."""
    return HarborBenchmark(Path(from_root(ref.source)), read_options(ref.options))


class HarborBenchmark:
    """Task folders. Implements core.ports.Benchmark.

    The primary score is the task's `reward`; every other reward becomes a score by its name.
    """

    action_space: Any = None
    observation_space: Any = None

    def __init__(self, folder: Path, options: HarborOptions) -> None:
        self._folder = folder
        self._options = options
        self._tasks = {task.id: task for task in read_folders(folder)}
        self._engine: ContainerEngine | None = None
        self._staging: Path | None = None
        self._settings: dict[str, TrialSetting] = {}
        self._refused: dict[str, tuple[str, ...]] = {}
        self._told: list[str] = []

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts; the digest covers the content of all folders, the agent, and the engine."""
        options = self._options
        name = self._folder.resolve().name
        files = {task.id: task.digest for task in self._tasks.values()}
        return BenchmarkInfo(
            id=f"{KIND}:{name}",
            title=f"{name} (harbor)",
            version="1",
            digest=digest([KIND, files, options.agent, options.engine, options.turns, options.reward]),
            kind=KIND,
            metrics=(Metric("reward", REWARD, low=0.0, high=1.0, primary=True),),
            description=f"{len(self._tasks)} task folders, played by the agent {options.agent}",
            offline=not options.asks_model,
            discovers=True,
            inputs={"agent": digest([options.agent, options.turns])},
            files=files,
            agent="program",
            agent_label=options.agent,
        )

    def warnings(self) -> Sequence[str]:
        """Return what readers of the results must know: unknown keys, and tasks that cannot run here."""
        found = [warning for task in self._tasks.values() for warning in task.warnings]
        if self._refused:
            found.append(f"{self._unplayable()}; they have no score")
        return [*found, *self._told]

    def secrets(self) -> set[str]:
        """Return the values of the host that tasks ask for."""
        return {
            value
            for setting in self._settings.values()
            for table in setting.variables()
            for value in host_values(table, setting.host)
        }

    def count(self, selection: Selection) -> int:
        """Return the number of selected tasks."""
        return sum(1 for _ in self.tasks(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the tasks by name. Raises UsageError for a list of seeds."""
        if selection.seeds is not None:
            raise UsageError("task folders take no list of seeds; name one folder, or limit their number with -n")
        chosen = list(self._tasks.values())[: selection.count]
        for task in chosen:
            yield Task(
                task.id,
                input={"task": task.id, "instruction": task.phases[0].instruction, "folder": task.digest[:16]},
                labels=dict(task.labels),
            )

    async def open(self, notice: Callable[[str], None]) -> None:
        """Look for what this machine cannot play. Raises Incompatible if that is every task."""
        self._engine = open_engine(self._chosen_engine(), this_process())
        for task in self._tasks.values():
            setting = TrialSetting(task, self._options, self._engine, self._image(task), notice)
            self._settings[task.id] = setting
            refused = (*task.refused, *_missing_variables(setting), *self._engine.refusals(setting.spec()))
            for phase in task.phases:
                if phase.separate is not None and not refused:
                    refused = tuple(self._engine.refusals(setting.verifier_spec(phase)))
            if refused:
                self._refused[task.id] = tuple(refused)
                continue
            for doubt in self._engine.doubts(setting.spec()):
                if doubt not in self._told:
                    self._told.append(doubt)
                    notice(doubt)
        if len(self._refused) == len(self._tasks):
            raise Incompatible(
                self.info.id, [f"{name}: {why[0]}" for name, why in list(self._refused.items())[:_NAMED]]
            )
        if self._refused:
            notice(self._unplayable())

    def _unplayable(self) -> str:
        named = [f"{name} ({'; '.join(why)})" for name, why in list(self._refused.items())[:_NAMED]]
        more = f" and {len(self._refused) - _NAMED} more" if len(self._refused) > _NAMED else ""
        return f"{len(self._refused)} of {len(self._tasks)} tasks cannot be played here: {', '.join(named)}{more}"

    def _chosen_engine(self) -> str:
        """Return the engine by name. Raises Incompatible if none that uses images answers."""
        if self._options.engine != "auto":
            return self._options.engine
        for name in ("docker", "podman"):
            if shutil.which(name) and _answers(name):
                return name
        raise Incompatible(
            self.info.id,
            ["neither docker nor podman answers; start one, or play tasks without images with -P engine=bubblewrap"],
        )

    def _image(self, task: TaskFolder) -> ContainerImage:
        """Return the image of a task; the build context of Terminal-Bench is copied without its answers."""
        if (task.folder / CONFIG).is_file() or not (
            task.image.context and (task.image.context / "Dockerfile").is_file()
        ):
            return task.image
        if self._staging is None:
            self._staging = Path(tempfile.mkdtemp(prefix="mesocosm-"))
        return ContainerImage(context=staged_context(task, self._staging / task.id))

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one episode. Raises EpisodeError (environment_invalid) if it cannot be played."""
        refused = self._refused.get(task.id)
        if refused:
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"task {task.id} cannot be played here: {'; '.join(refused)}")
        return HarborEnvironment(self._settings[task.id], episode_id)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the rewards of an episode; where there are none, the cause."""
        del task
        facts = episode.terminal_info
        rewards = facts.get(REWARDS)
        if not isinstance(rewards, dict):
            cause = facts.get(CAUSE)
            missing = Cause(cause) if cause else Cause.GRADER_ERROR
            return [Score(REWARD, missing=missing, explanation=str(facts.get(REASON, "the verifier did not run")))]
        value, why = primary(rewards, self._options.reward)
        first = (
            Score(REWARD, value, explanation=why)
            if value is not None
            else Score(REWARD, missing=Cause.VALUE_MISSING, explanation=why)
        )
        return [first, *(Score(name, found) for name, found in rewards.items() if name != REWARD)]

    async def close(self) -> None:
        """Remove what was copied."""
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None


def _missing_variables(setting: TrialSetting) -> list[str]:
    names = [name for table in setting.variables() for name in lacking(table, setting.host)]
    return [f"it needs the variable {name}, which is not set here" for name in dict.fromkeys(names)]


def _answers(name: str) -> bool:
    try:
        words = [name, "version", "--format", "{{.Server.Version}}"] if name == "docker" else [name, "info"]
        done = subprocess.run(words, capture_output=True, timeout=_ENGINE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
