"""Check whether a patch applies, and whether it resolves an instance, by running tests.

`Confined` runs the instance's own tests behind bubblewrap, in another process than the code under test, which never
sees them (`sandboxes/remote_tests.py`). The tests are those of the instance, whatever the patch did to them. Tests that
cannot be run like this decide nothing: if a patch fails, the reference repair is tried too, and if it fails as well the
instance is unverified.

`Official` runs the package swebench with docker.
"""

import asyncio
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Protocol

import msgspec

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance, touched
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Checkout, Repositories, applies
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.sandboxes.bubblewrap import python_folders
from mesocosm.sandboxes.functions import RepositoryTests, check_repository
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.programs import Programs

TEST_SECONDS = 300.0
_OFFICIAL_SECONDS = 1500.0
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_ALLOWANCE = ProgramLimits(
    cpu_seconds=int(TEST_SECONDS) + 1, memory_bytes=2048 * MIB, processes=64, file_bytes=64 * MIB
)


@dataclass(frozen=True, slots=True)
class PatchVerdict:
    """Whether an instance is resolved; None if that could not be decided. `reason` says why."""

    resolved: bool | None
    reason: str


class Evaluator(Protocol):
    """Decides whether a patch resolves an instance."""

    def fits(self, instance: Instance) -> bool:
        """Return whether this evaluator can judge the instance."""
        ...

    async def judge(self, instance: Instance, patch: str) -> PatchVerdict:
        """Return the verdict on a patch that applies. Raises EpisodeError."""
        ...


async def apply_check(instance: Instance, patch: str, repositories: Repositories) -> str:
    """Return why a patch does not apply to a clean checkout; empty if it does. Raises EpisodeError."""
    if not patch.strip():
        return "there is no change"
    checkout = await repositories.checkout(instance)
    try:
        return await applies(patch, checkout.folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, checkout.folder.parent, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Confined:
    """Runs an instance's own tests without a network, apart from its code."""

    repositories: Repositories
    _reference: dict[str, str] = field(default_factory=dict)

    def fits(self, instance: Instance) -> bool:
        """Return whether the instance defines its test command and which tests must pass."""
        return bool(instance.gold.test_command and instance.gold.failing)

    async def judge(self, instance: Instance, patch: str) -> PatchVerdict:
        """Run the tests on a clean checkout with the patch. Raises EpisodeError."""
        gold = instance.gold
        reason = await self._failure(instance, patch)
        if not reason:
            told = f"{len(gold.failing)} tests pass that failed, and {len(gold.passing)} still pass"
            return PatchVerdict(resolved=True, reason=told)
        if instance.id not in self._reference:
            self._reference[instance.id] = await self._failure(instance, gold.patch)
        if cannot := self._reference[instance.id]:
            return PatchVerdict(None, f"its tests cannot be run apart from its code; of the reference repair {cannot}")
        return PatchVerdict(resolved=False, reason=reason)

    async def _failure(self, instance: Instance, patch: str) -> str:
        """Return which test fails on a clean checkout with the patch, or an empty string. Raises EpisodeError."""
        checkout = await self.repositories.checkout(instance)
        try:
            return await self._tested(checkout, instance.gold, patch)
        finally:
            await asyncio.to_thread(shutil.rmtree, checkout.folder.parent, ignore_errors=True)

    async def _tested(self, checkout: Checkout, gold: Gold, patch: str) -> str:
        brought = list(dict.fromkeys(touched(gold.test_patch)))
        reason = await applies(gold.test_patch, checkout.folder) if gold.test_patch else ""
        if reason:
            return f"the tests cannot be brought in: {reason}"
        roots = code_roots(checkout.folder, gold.test_command)
        modules = await asyncio.to_thread(test_modules, checkout.folder, roots, brought)
        own = await asyncio.to_thread(top_names, roots)
        # The code must not read the tests that judge it.
        await checkout.restore(brought)
        reason = await applies(patch, checkout.folder)
        if reason:
            return f"the patch does not apply: {reason}"
        # What tests read beside them is that of the instance too.
        await checkout.restore([path for path in await checkout.changed() if is_test(PurePath(path))])
        names = (*gold.failing, *gold.passing)
        packages = tuple(dict.fromkeys(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")))
        added = await asyncio.to_thread(top_names, roots) - own
        code = own | {name for name in added if not any(_installed(name, place) for place in packages)}
        code -= {*_TEST_FOLDERS, *modules}
        tests = RepositoryTests(names, modules, checkout.folder, roots, sorted(code), packages)
        seen = (*python_folders(), checkout.folder)
        runner = Programs(_ALLOWANCE, parallel=1, readable=seen, hidden=(BUILTIN,))
        reasons = await check_repository(tests, runner, cpu_seconds=int(TEST_SECONDS), seconds=TEST_SECONDS)
        kinds = ["should pass now"] * len(gold.failing) + ["passed before"] * len(gold.passing)
        judged = zip(names, kinds, reasons, strict=True)
        return next((f"{name} failed, which {kind}: {said}" for name, kind, said in judged if said), "")


def code_roots(folder: Path, command: str) -> list[Path]:
    """Return the folders from which a repository's code is imported: its own, src, and those of PYTHONPATH."""
    named = re.search(r"\bPYTHONPATH=(\S+)", command)
    names = [".", "src", *(named[1].strip("\"'").split(":") if named else ())]
    found = [(folder / name).resolve() for name in names if name]
    return [place for place in dict.fromkeys(found) if place.is_dir() and place.is_relative_to(folder.resolve())]


def test_modules(folder: Path, roots: Sequence[Path], brought: Collection[str]) -> dict[str, str]:
    """Return the sources of all test modules by dotted name: files named like tests, and those of the test patch."""
    found: dict[str, str] = {}
    top = folder.resolve()
    for path in sorted(top.rglob("*.py")):
        inside = path.relative_to(top)
        if path.is_symlink() or not path.is_file() or not (is_test(inside) or inside.as_posix() in brought):
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        for root in roots:
            if path.is_relative_to(root):
                found[".".join(path.relative_to(root).with_suffix("").parts)] = source
        if not (path.parent / "__init__.py").exists():
            # pytest puts the folder of such a file on the path.
            found.setdefault(path.stem, source)
    return found


def is_test(path: PurePath) -> bool:
    """Return whether a file belongs to the tests of a repository, by its name or its folder's."""
    named = path.name in {"conftest.py", "tests.py", "test.py"} or path.match("test_*.py") or path.match("*_test.py")
    return named or not _TEST_FOLDERS.isdisjoint(path.parent.parts)


def top_names(roots: Sequence[Path]) -> set[str]:
    """Return the names of all top-level modules of a repository, its tests included."""
    names = {entry.name.partition(".")[0] for root in roots for entry in root.iterdir()}
    return {name for name in names if name.isidentifier()}


def _installed(name: str, packages: Path) -> bool:
    """Return whether a package is installed, which a file of the same name in the repository must not replace."""
    return (packages / name).exists() or any(packages.glob(f"{name}.*"))


@dataclass(frozen=True, slots=True)
class Official:
    """Runs the package swebench, which builds an image of the instance with docker and runs its tests inside."""

    python: str = sys.executable

    def fits(self, instance: Instance) -> bool:
        """Return whether the instance comes from a published data set."""
        return bool(instance.gold.row) and not instance.gold.test_command

    async def judge(self, instance: Instance, patch: str) -> PatchVerdict:
        """Return the verdict of the official report. Raises EpisodeError."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "data.jsonl").write_bytes(msgspec.json.encode(instance.gold.row) + b"\n")
            prediction = {"instance_id": instance.id, "model_name_or_path": "mesocosm", "model_patch": patch}
            (folder / "predictions.jsonl").write_bytes(msgspec.json.encode(prediction) + b"\n")
            output = await self._run(instance.id, folder)
            reports = await asyncio.to_thread(_reports, folder, instance.id)
            if len(reports) != 1:
                return PatchVerdict(None, f"the official evaluation left no report: {output[-500:]}")
            report = read_json(reports[0].read_bytes(), large=True).get(instance.id, {})
        if not isinstance(report.get("resolved"), bool):
            return PatchVerdict(None, "the official report does not say whether the instance is resolved")
        return PatchVerdict(report["resolved"], "by the official evaluation")

    async def _run(self, instance_id: str, folder: Path) -> str:
        words = [self.python, "-m", "swebench.harness.run_evaluation", "--dataset_name", "data.jsonl"]
        words += ["--predictions_path", "predictions.jsonl", "--max_workers", "1", "--run_id", "mesocosm"]
        process = await PlainSandbox().start([*words, "--instance_ids", instance_id], cwd=folder)
        try:
            async with asyncio.timeout(_OFFICIAL_SECONDS):
                await process.wait()
        except TimeoutError as error:
            raise EpisodeError(Cause.GRADER_ERROR, "the official evaluation did not end in time") from error
        finally:
            await process.stop()
        return f"{process.stdout_tail()}\n{process.stderr_tail()}".strip()


def _reports(folder: Path, instance_id: str) -> list[Path]:
    return list(folder.glob(f"logs/run_evaluation/**/{instance_id}/report.json"))
