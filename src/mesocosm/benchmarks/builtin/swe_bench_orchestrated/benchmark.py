"""swe_bench_orchestrated: repairs from the bundled sample, from SWE-bench, or from a file."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.evaluation import (
    Confined,
    Evaluator,
    Official,
    PatchVerdict,
    apply_check,
)
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance, read_instances
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repair import Repair
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Repositories
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.workspace import CheckoutWorkspace, work_tools
from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.benchmarks.dataset import DatasetRows, HubDataset, read_rows
from mesocosm.benchmarks.descriptor import Requirement
from mesocosm.benchmarks.native import LoadedTasks
from mesocosm.benchmarks.orchestrated.job import CellJob
from mesocosm.benchmarks.orchestrated.matrix import MatrixBenchmark
from mesocosm.benchmarks.requirements import missing
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, Incompatible, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.sandboxes.bubblewrap import available

APPLIES = "patch_applies"
_FILE = ("data/test-00000-of-00001.parquet",)
HUBS = {
    "lite": HubDataset("SWE-bench/SWE-bench_Lite", "69611d31", _FILE),
    "verified": HubDataset("SWE-bench/SWE-bench_Verified", "91aa3ed5", _FILE),
    "full": HubDataset("SWE-bench/SWE-bench", "7074ef12", _FILE),
    "multilingual": HubDataset("SWE-bench/SWE-bench_Multilingual", "2b7aced9", _FILE),
}


class SweBench(MatrixBenchmark):
    """Repairs of repositories; the result is a diff."""

    def instances(self) -> LoadedTasks:
        """Return the instances. Raises UsageError, InvalidInput, Incompatible."""
        self._refuse()
        if shutil.which("git") is None:
            raise Incompatible(self.descriptor.id, ["the program 'git' is not on PATH; install it"])
        rows = self._rows
        found = read_instances(self.descriptor.id, rows.rows)
        wanted = self.parameter("repo_filter") or ""
        tasks = [_task(instance) for instance in found if wanted in instance.repository]
        return LoadedTasks(tasks, digest([rows.content, bool(available())]))

    def job(self, task: Task) -> CellJob:
        """Return the repair job of an instance."""
        return Repair(_instance(task), self._repositories, shell=bool(available()))

    def offered(self) -> tuple[str, ...]:
        """Return the capabilities of the available tools."""
        tools = work_tools(CheckoutWorkspace(Path()), shell=bool(available()))
        return tuple(dict.fromkeys(own.capability for own in tools))

    def usual(self) -> tuple[str, ...]:
        """Return all that a repair may need, although a machine without a sandbox offers no shell."""
        return ("code.read", "code.write", "code.edit", "code.search", "code.shell")

    async def verdict(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return whether the diff resolves the instance, and whether it applies to a clean checkout."""
        name, instance = self.descriptor.score.field, _instance(task)
        patch = str(episode.terminal_info.get("patch") or "")
        reason = await apply_check(instance, patch, self._repositories)
        if reason:
            return [Score(name, 0.0, explanation=reason), Score(APPLIES, 0.0, explanation=reason)]
        found = await self._judge(instance, patch)
        if found.resolved is None:
            resolved = Score(name, missing=Cause.UNVERIFIED, explanation=f"unverified: {found.reason}")
        else:
            resolved = Score(name, float(found.resolved), explanation=found.reason)
        return [resolved, Score(APPLIES, 1.0)]

    async def _judge(self, instance: Instance, patch: str) -> PatchVerdict:
        evaluator = next((known for known in self._evaluators if known.fits(instance)), None)
        if evaluator is None:
            return PatchVerdict(None, self._unverified(instance))
        return await evaluator.judge(instance, patch)

    def _unverified(self, instance: Instance) -> str:
        """Return why an instance cannot be evaluated."""
        if instance.gold.test_command:
            works = available()
            return works.reason or "the instance names no test that must pass (FAIL_TO_PASS)"
        if self.parameter("no_docker"):
            return "the instance can only be evaluated with docker, which no_docker forbids"
        return "; ".join(self._official_lacks) or "the instance does not come from a published data set"

    @cached_property
    def _evaluators(self) -> list[Evaluator]:
        found: list[Evaluator] = [Confined(self._repositories)] if available() else []
        if not self.parameter("no_docker") and not self._official_lacks:
            found.append(Official())
        return found

    @cached_property
    def _official_lacks(self) -> list[str]:
        """What the official evaluation needs and this machine lacks."""
        needs = (Requirement(kind="docker"), Requirement(kind="package", name="swebench"))
        descriptor = self.descriptor.model_copy(update={"requirement": needs})
        return missing(KnownBenchmark(descriptor, self.setup.folder, ""), {}, os.environ)

    @cached_property
    def _repositories(self) -> Repositories:
        root = Path(tempfile.mkdtemp(prefix="mesocosm-swe-")).resolve()
        return Repositories(root, self.setup.path("repos_path"))

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the instances, and warn of those that cannot be evaluated."""
        await super().open(notice)
        unverified = {
            self._unverified(instance)
            for instance in map(_instance, self._instances.tasks)
            if not any(known.fits(instance) for known in self._evaluators)
        }
        for reason in sorted(unverified):
            notice(f"{self.descriptor.score.field} will be missing (unverified): {reason}")

    async def close(self) -> None:
        """Remove the repositories."""
        repositories = self.__dict__.pop("_repositories", None)
        self.__dict__.pop("_evaluators", None)
        if repositories is not None:
            shutil.rmtree(repositories.root, ignore_errors=True)

    @property
    def split(self) -> str:
        """The name of the dataset: a given file takes precedence over the sample."""
        dataset = str(self.parameter("dataset"))
        return "jsonl" if dataset == "sample" and self.setup.path("data_path") is not None else dataset

    @cached_property
    def _rows(self) -> DatasetRows:
        subject, path = self.descriptor.id, self.setup.path("data_path")
        match self.split:
            case "sample":
                return read_rows(subject, self.setup.folder / "sample.jsonl", None)
            case "jsonl" if path is None:
                raise UsageError(f"{subject}: dataset jsonl needs the parameter data_path, a file of instances")
            case "jsonl":
                return read_rows(subject, path, None)
        return read_rows(subject, path, HUBS[self.split])

    def _refuse(self) -> None:
        """Raise UsageError for options that other tools accept without honouring them."""
        reasons = {
            "no_baseline": (
                False,
                "baselines are runs of their own here: builtin/oracle, builtin/empty, builtin/random",
            ),
            "allow_task_fallback": (True, "an instance is never played as another one"),
        }
        for name, (refused, reason) in reasons.items():
            if self.parameters.get(name) is refused:
                raise UsageError(f"{self.descriptor.id}: {name} cannot be {str(refused).lower()}: {reason}")
        if self.parameters.get("trace_dir"):
            raise UsageError(
                f"{self.descriptor.id}: trace_dir is not needed: the trace of every cell is kept with the results; "
                "leave it out"
            )


def _task(instance: Instance) -> Task:
    shown = {"repo": instance.repository, "base_commit": instance.commit, "problem_statement": instance.problem}
    gold = {"gold": msgspec.to_builtins(instance.gold), "files": instance.files}
    return Task(instance.id, shown, gold, metadata={"category": instance.repository})


def _instance(task: Task) -> Instance:
    """Return the instance of a task, assembled from its input and its gold data."""
    shown, target = task.input, task.target
    gold = msgspec.convert(target["gold"], Gold)
    name = str(task.metadata.get("instance", task.id))
    return Instance(name, shown["repo"], shown["base_commit"], shown["problem_statement"], gold, target["files"])


open_benchmark = SweBench
