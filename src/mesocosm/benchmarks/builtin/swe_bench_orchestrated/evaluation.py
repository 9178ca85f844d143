"""Check whether a patch applies, and whether it resolves an instance, by running tests.

`Confined` runs the instance's own `test_command` in bubblewrap. The code under test runs in the same process as the
tests, so it could end that process early or fake the output of a test runner. Therefore each test must be reported as
passed by name, and tests that must fail, generated for every run and added to the instance's tests, must be reported as
failed. Code that disables assertions or fakes a report cannot tell them from the others (see twins); guessing which one
of each pair is real succeeds with probability 1/2 per hidden test.

`Official` runs the package swebench with docker.
"""

import asyncio
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance, touched
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Checkout, Repositories, applies
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.twins import parts, twinned
from mesocosm.benchmarks.orchestrated.confinement import run_confined
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.sandboxes.plain import PlainSandbox

TEST_SECONDS = 300.0
_LINES = 20_000
_OFFICIAL_SECONDS = 1500.0
_PASSED, _FAILED = {"ok", "PASSED"}, {"FAIL", "ERROR", "FAILED"}
_UNITTEST = re.compile(r"^(?P<name>\w+) \((?P<place>[\w.]+)\) \.\.\. (?P<word>\w+)")
_PYTEST_FIRST = re.compile(r"^(?P<word>PASSED|FAILED|ERROR) (?P<name>\S+)")
_PYTEST_LAST = re.compile(r"^(?P<name>\S+::\S+) (?P<word>PASSED|FAILED|ERROR)\b")


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
    """Runs an instance's own tests without a network."""

    repositories: Repositories

    def fits(self, instance: Instance) -> bool:
        """Return whether the instance defines its test command and which tests must pass."""
        return bool(instance.gold.test_command and instance.gold.failing)

    async def judge(self, instance: Instance, patch: str) -> PatchVerdict:
        """Run the tests on a clean checkout with the patch. Raises EpisodeError."""
        checkout = await self.repositories.checkout(instance)
        try:
            return await self._judge(checkout, instance.gold, patch)
        finally:
            await asyncio.to_thread(shutil.rmtree, checkout.folder.parent, ignore_errors=True)

    async def _judge(self, checkout: Checkout, gold: Gold, patch: str) -> PatchVerdict:
        reason = await applies(patch, checkout.folder)
        if reason:
            return _unresolved(f"the patch does not apply: {reason}")
        tests = list(dict.fromkeys(touched(gold.test_patch)))
        await checkout.restore(tests)
        reason = await applies(gold.test_patch, checkout.folder) if gold.test_patch else ""
        if reason:
            return PatchVerdict(None, f"the tests cannot be brought in: {reason}")
        decoys = _decoys(checkout.folder, tests, gold)
        ran = await run_confined(
            ["sh", "-c", gold.test_command],
            cwd=checkout.folder,
            seconds=TEST_SECONDS,
            writable=[checkout.folder],
            env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
            lines=_LINES,
        )
        if ran.code is None:
            return _unresolved(f"the tests did not end within {TEST_SECONDS:g} s")
        return verdict(f"{ran.output}\n{ran.errors}", gold, decoys)


def _decoys(folder: Path, tests: Sequence[str], gold: Gold) -> tuple[str, ...]:
    """Add tests that must fail to the test files, and return their names: twins, or else a single separate test."""
    files = [folder / path for path in tests if path.endswith(".py") and (folder / path).is_file()]
    wanted = {re.sub(r"\[.*", "", name).split(" ")[0].replace(":", ".").split(".")[-1] for name in gold.failing}
    found: list[str] = []
    for file in files:
        made = twinned(file.read_text(encoding="utf-8", errors="replace"), wanted)
        if made.names:
            file.write_text(made.source, encoding="utf-8")
            found += made.names
    return tuple(found) or _alone(files)


def _alone(files: Sequence[Path]) -> tuple[str, ...]:
    """Add a test that must fail to the first file, and return its name; empty if there is no file."""
    place = next(iter(files), None)
    if place is None:
        return ()
    mark = secrets.token_hex(8)
    name = f"test_{mark}"
    body = f"        self.assertEqual({secrets.randbelow(10**9)}, {10**9 + secrets.randbelow(10**9)})\n"
    case = f"\n\nimport unittest as _{mark}\n\n\nclass Test{mark}(_{mark}.TestCase):\n    def {name}(self):\n{body}"
    with place.open("a", encoding="utf-8") as file:
        file.write(case)
    return (name,)


def verdict(report: str, gold: Gold, decoys: Sequence[str]) -> PatchVerdict:
    """Return the verdict from a test runner's report (unittest -v, pytest -v or -rA); the tests `decoys` must fail."""
    results = read_report(report)
    failed = {part for name, words in results.items() if words <= _FAILED for part in parts(name)}
    if not failed.issuperset(decoys):
        return _unresolved("the tests did not run to their end, or failures were not reported")
    for kind, names in (("should pass now", gold.failing), ("passed before", gold.passing)):
        for name in names:
            words = results.get(name, set())
            if not words:
                return _unresolved(f"the report says nothing of {name}, which {kind}")
            if not words <= _PASSED:
                return _unresolved(f"{name} failed, which {kind}")
    return PatchVerdict(
        resolved=True, reason=f"{len(gold.failing)} tests pass that failed, and {len(gold.passing)} still pass"
    )


def _unresolved(reason: str) -> PatchVerdict:
    return PatchVerdict(resolved=False, reason=reason)


def read_report(report: str) -> dict[str, set[str]]:
    """Return the reported outcomes of each test, under every name by which it is known."""
    found: dict[str, set[str]] = {}
    for line in report.splitlines():
        match = _UNITTEST.match(line)
        if match is not None:
            name, place = match["name"], match["place"]
            dotted = place if place.endswith(f".{name}") else f"{place}.{name}"
            for known in (dotted, f"{name} ({dotted.removesuffix(f'.{name}')})"):
                found.setdefault(known, set()).add(match["word"])
            continue
        match = _PYTEST_FIRST.match(line) or _PYTEST_LAST.match(line)
        if match is not None:
            found.setdefault(match["name"], set()).add(match["word"])
    return found


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
