"""The matrix: every instance runs in each execution mode with each provider, and every cell is an episode."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import msgspec

from mesocosm.benchmarks.drawing import draw
from mesocosm.benchmarks.native import SEED, LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.orchestrated.capability import Evidence, check_capabilities, read_evidence
from mesocosm.benchmarks.orchestrated.conversation import CellEnvironment
from mesocosm.benchmarks.orchestrated.job import CellJob
from mesocosm.benchmarks.orchestrated.provider import AgentProvider, chosen, find_provider
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

MODES = ("orchestrated", "direct_shell")
MODE, PROVIDER, INSTANCE = "mode", "provider", "instance"
DELEGATION, COMPLIANCE = "delegation_success_rate", "capability_compliance_rate"


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One combination of execution mode and provider."""

    mode: str
    provider: AgentProvider

    def of(self, instance: Task) -> Task:
        """Return the task of this cell. Its cluster is the instance, so that cells are compared by instance."""
        place = {MODE: self.mode, PROVIDER: self.provider.name}
        return msgspec.structs.replace(
            instance,
            id=f"{instance.id}/{self.mode}/{self.provider.name}",
            input={**place, **instance.input},
            cluster=instance.id,
            metadata={**instance.metadata, **place, INSTANCE: instance.id},
        )


class MatrixBenchmark(NativeBenchmark):
    """Base of benchmarks with cells as tasks. A subclass defines `instances`, `job`, `verdict` and `offered`.

    An instance is a task whose input is an object without gold data; its id is unique among all instances.
    """

    # Abstract methods

    @abstractmethod
    def instances(self) -> LoadedTasks:
        """Return all instances. Raises UsageError, Incompatible."""

    @abstractmethod
    def job(self, task: Task) -> CellJob:
        """Return the work of a task."""

    @abstractmethod
    async def verdict(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of the work, the primary one first."""

    @abstractmethod
    def offered(self) -> tuple[str, ...]:
        """Return the capabilities of the tools that the native worker is offered."""

    def usual(self) -> tuple[str, ...]:
        """Return the capabilities required by default: all that are offered."""
        return self.offered()

    # Derived

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter, or its default."""
        value = self.parameters.get(name)
        return self.descriptor.parameters[name].default if value is None else value

    @cached_property
    def cells(self) -> tuple[MatrixCell, ...]:
        """The columns of the matrix. Raises UnknownName, Incompatible."""
        modes = MODES if self.parameter("matrix") else (self.parameter("execution_mode"),)
        providers = chosen(self.descriptor.id, self.parameter("providers"))
        return tuple(MatrixCell(mode, provider) for mode, provider in product(modes, providers))

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The capabilities that every instance requires. Raises UsageError."""
        return check_capabilities(self.descriptor.id, self.parameter("required_capabilities") or self.usual())

    @cached_property
    def _instances(self) -> LoadedTasks:
        if self.parameter("orchestrator_model"):
            raise UsageError(
                f"{self.descriptor.id}: orchestrator_model cannot be set: both planes are played by the model of the "
                "run; leave it out, or compare two runs"
            )
        _ = self.required
        found = self.instances()
        if not found.tasks:
            raise UsageError(f"{self.descriptor.id}: the data holds no instance; check dataset and filters")
        return found

    def load(self) -> LoadedTasks:
        """Return every instance in every cell. Raises UsageError, Incompatible."""
        cells, found = self.cells, self._instances
        columns = [[cell.mode, cell.provider.name] for cell in cells]
        tasks = [cell.of(instance) for instance in found.tasks for cell in cells]
        return LoadedTasks(tasks, digest([found.content, columns, self.required]))

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the tasks, and report which installed agents run outside our sandbox."""
        await super().open(notice)
        for provider in dict.fromkeys(cell.provider for cell in self.cells):
            if provider.programs and not provider.absent:
                runs = "" if provider.confined else ", and runs commands of the model as this user"
                notice(
                    f"{provider.name} is not in our sandbox: it can read what is on this machine, the answers of "
                    f"benchmarks too{runs}"
                )

    def count(self, selection: Selection) -> int:
        """Return how many tasks `selection` picks: its count is a number of instances, each with all its cells."""
        if selection.seeds is not None or selection.count is None:
            return super().count(selection)
        return min(max(selection.count, 0), len(self._instances.tasks)) * len(self.cells)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the cells of all instances, or of a sample of them; `seeds` are indexes among all cells."""
        if selection.seeds is not None or selection.count is None:
            yield from super().tasks(selection)
            return
        seed = int(self.parameter(SEED) or 0)
        for instance in draw(self._instances.tasks, selection.count, seed, self.stratum):
            yield from (cell.of(instance) for cell in self.cells)

    def evidence(self, task: Task) -> Evidence:
        """Return the capabilities required and declared for a task."""
        provider = find_provider(task.metadata[PROVIDER])
        return Evidence(self.required, provider.declared if provider.programs else self.offered())

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of a cell.

        Raises EpisodeError: program_failed if the provider is not installed, so that the score is missing;
        capability_missing if the cell is strict and a required capability is not declared, which counts as wrong.
        """
        del episode_id
        provider, evidence = find_provider(task.metadata[PROVIDER]), self.evidence(task)
        if provider.absent:
            raise EpisodeError(Cause.PROGRAM_FAILED, f"{provider.absent}; install it, or leave the provider out")
        if self.parameter("strict_capabilities") and evidence.undeclared:
            lacking = ", ".join(evidence.undeclared)
            raise EpisodeError(
                Cause.CAPABILITY_MISSING, f"missing required capabilities {lacking} of provider {provider.name}"
            )
        return self.world(task, provider, evidence)

    def world(self, task: Task, provider: AgentProvider, evidence: Evidence) -> Environment:
        """Return the environment of a cell whose requirements are met."""
        orchestrated, most = task.metadata[MODE] == MODES[0], int(self.parameter("max_steps"))
        if provider.programs:
            from mesocosm.benchmarks.orchestrated.foreign import ForeignCell

            return ForeignCell(self.job(task), provider, evidence, orchestrated=orchestrated, max_steps=most)
        return CellEnvironment(self.job(task), evidence, orchestrated=orchestrated, max_steps=most)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the verdict, again under the name of each part of the matrix, with delegation and compliance."""
        scores = list(await self.verdict(task, episode))
        primary = scores[0]
        scores += [msgspec.structs.replace(primary, name=part.name) for part in self.parts() if part.covers(task)]
        evidence = read_evidence(episode.terminal_info.get("capabilities", self.evidence(task).data()))
        used = ", ".join(evidence.observed) or "none"
        scores.append(Score(COMPLIANCE, evidence.compliance, explanation=f"used: {used}"))
        if task.metadata[MODE] == MODES[0]:
            scores.append(_delegation(episode.terminal_info))
        return scores

    def parts(self) -> Iterator[Metric]:
        """Yield the metrics of parts of the matrix: of providers, modes, and of cells if there are several of both."""
        names = list(dict.fromkeys(cell.provider.name for cell in self.cells))
        modes = list(dict.fromkeys(cell.mode for cell in self.cells))
        wheres = [{PROVIDER: name} for name in names] + [{MODE: mode} for mode in modes]
        if len(names) > 1 and len(modes) > 1:
            wheres += [{MODE: mode, PROVIDER: name} for mode in modes for name in names]
        for where in wheres:
            name = ":".join((self.descriptor.score.field, *where.values()))
            yield Metric(name, name, low=0.0, high=1.0, where=where)

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts of the descriptor, with the metrics of the parts."""
        known = super().info
        modes = {cell.mode for cell in self.cells}
        further = [metric for metric in known.metrics[1:] if metric.name != DELEGATION or MODES[0] in modes]
        metrics = (known.metrics[0], *self.parts(), *further)
        return msgspec.structs.replace(known, metrics=metrics, max_steps=int(self.parameter("max_steps")))

    def card(self) -> dict[str, Any]:
        """Return the card with the split that is used."""
        return {**self.descriptor.card(), "split": self.split}

    @property
    def split(self) -> str:
        """The name of the dataset."""
        return str(self.parameter("dataset"))


def _delegation(info: Mapping[str, Any]) -> Score:
    """Return the share of delegations with a report; 0 if the control plane never delegated."""
    made, successful = int(info.get("delegations", 0)), int(info.get("delegations_successful", 0))
    if not made:
        return Score(DELEGATION, 0.0, explanation="nothing was delegated")
    return Score(DELEGATION, successful / made, explanation=f"{successful} of {made} delegations brought a report")
