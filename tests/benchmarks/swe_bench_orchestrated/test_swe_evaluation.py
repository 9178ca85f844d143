"""Evaluation: what resolves an instance, and what only looks like it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.evaluation import (
    Confined,
    Official,
    apply_check,
    read_report,
    verdict,
)
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Repositories
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.twins import twinned

BROUGHT = """--- a/test_double.py
+++ b/test_double.py
@@ -7,2 +7,5 @@
     def test_it_exists(self):
         self.assertTrue(callable(double))
+
+    def test_it_doubles(self):
+        self.assertEqual(double(2), 4)
"""


def new(path: str, text: str) -> str:
    """Return a patch that makes a file."""
    lines = text.splitlines()
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def before(code: str) -> str:
    """Return a patch that lets the code under test do something when it is imported."""
    lines = code.splitlines()
    head = f"--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,{2 + len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines) + " def double(number):\n     return number + number + 1\n"


FORGED = """import re
for name in re.findall(r"def (test_\\w+)", open("test_double.py").read()):
    print(f"{name} (test_double.DoubleTest.{name}) ... ok", flush=True)
"""
PATCHES = {
    "a comment": before("# solved"),
    "a new file": new("notes.txt", "solved"),
    "an early end": before("import os\nos._exit(0)"),
    "an exit": before("import sys\nsys.exit(0)"),
    "a forged report": before(f"{FORGED}import os\nos._exit(0)"),
    "a forged report beside the true one": before(FORGED),
    "silent assertions": before(
        "import unittest\nunittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *all: None"
    ),
    "failures of tests with ordinary names": before(
        "import re, unittest.runner\n"
        "result = unittest.runner.TextTestResult\n"
        "failure = result.addFailure\n"
        "def chosen(self, test, error):\n"
        "    known = re.search(r'[0-9a-f]{16}', test.id()) is None\n"
        "    self.addSuccess(test) if known else failure(self, test, error)\n"
        "result.addFailure = chosen"
    ),
    "a test runner of its own": new("unittest.py", FORGED),
    "other tests": BROUGHT.replace("self.assertEqual(double(2), 4)", "pass"),
    "a command that fails": before("raise RuntimeError('test_it_doubles (test_double.DoubleTest) ... ok')"),
}


async def test_the_reference_repair_resolves(repositories: Repositories, instance: Instance) -> None:
    found = await Confined(repositories).judge(instance, instance.gold.patch)
    assert found.resolved is True, found.reason


@pytest.mark.parametrize("kind", PATCHES)
async def test_what_only_looks_like_a_repair_applies_and_resolves_nothing(
    kind: str, repositories: Repositories, instance: Instance
) -> None:
    assert await apply_check(instance, PATCHES[kind], repositories) == ""
    found = await Confined(repositories).judge(instance, PATCHES[kind])
    assert found.resolved is False, found.reason


async def test_no_change_does_not_apply(repositories: Repositories, instance: Instance) -> None:
    assert await apply_check(instance, " \n", repositories) == "there is no change"


async def test_a_repair_that_breaks_another_test_resolves_nothing(
    repositories: Repositories, instance: Instance
) -> None:
    head = "--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,1 @@\n"
    gone = f"{head}-def double(number):\n-    return number + number + 1\n+double = 4\n"
    assert (await Confined(repositories).judge(instance, gone)).resolved is False


GOLD = Gold("", failing=("t.T.test_a",), passing=("t.T.test_b",))
GOOD = "test_a (t.T.test_a) ... ok\ntest_b (t.T) ... ok\n"


def test_a_test_that_must_fail_has_to_be_reported_as_failed() -> None:
    assert verdict(f"{GOOD}test_0c (t.C.test_0c) ... FAIL\n", GOLD, ["test_0c"]).resolved is True
    assert verdict(f"{GOOD}test_0c (t.C.test_0c) ... ok\n", GOLD, ["test_0c"]).resolved is False
    assert verdict(GOOD, GOLD, ["test_0c"]).resolved is False
    assert verdict(GOOD, GOLD, []).resolved is True


@pytest.mark.parametrize(
    "more", ["test_a (t.T.test_a) ... FAIL\n", "test_b (t.T) ... ERROR\n", "test_a (t.T) ... skipped\n"]
)
def test_a_test_that_was_said_to_fail_as_well_has_not_passed(more: str) -> None:
    assert verdict(GOOD + more, GOLD, []).resolved is False


TESTS = """
import unittest

def test_alone():
    assert 1 + 1 == 2

class SumTest(unittest.TestCase):

    def test_of_numbers(self):
        self.assertEqual(sum([1, 2]), 3)
        self.assertEqual([3, {"a": (1.5, True)}], [sum([1, 2]), {"a": (1.5, True)}])

    def test_of_words(self):
        self.assertEqual("a" + "b", "ab")
        self.assertEqual(tuple("ab"), tuple(["a", "b"]))

    def test_of_nothing(self):
        self.assertRaises(TypeError, sum, None)
"""
NEWS = ("test_alone", "test_of_numbers", "test_of_words", "test_of_nothing")


def test_who_passes_a_test_fails_its_twin() -> None:
    for _ in range(50):
        made = twinned(TESTS, NEWS)
        space: dict[str, Any] = {"__name__": "tests"}
        exec(compile(made.source, "tests", "exec"), space)
        case = space["SumTest"]
        assert len(set(made.names)) == 3
        assert not set(made.names) & set(NEWS)
        for name in (*NEWS, *made.names):
            run = space[name] if name in space else getattr(case(name), name)
            if name in made.names:
                with pytest.raises(AssertionError):
                    run()
            else:
                run()


def test_only_tests_that_are_asked_for_and_compare_have_twins() -> None:
    assert twinned(TESTS, ["test_of_nothing", "test_elsewhere"]).names == ()
    assert twinned(TESTS, ["test_of_nothing"]).source == TESTS
    assert twinned("def test_(", ["test_"]).names == ()


def test_a_name_within_a_name_is_another() -> None:
    report = f"{GOOD}test_of_a_word (t.C.test_of_a_word) ... FAIL\n"
    assert verdict(report, GOLD, ["test_of_a"]).resolved is False


def test_a_test_of_which_nothing_is_said_has_not_passed() -> None:
    assert verdict("test_a (t.T.test_a) ... ok", GOLD, []).resolved is False


def test_reports_of_both_usual_runners_are_read() -> None:
    report = read_report("PASSED t.py::T::a\nt.py::T::b PASSED [ 50%]\nFAILED t.py::c - x\ntest_d (t.T) ... ok")
    assert report == {
        "t.py::T::a": {"PASSED"},
        "t.py::T::b": {"PASSED"},
        "t.py::c": {"FAILED"},
        "t.T.test_d": {"ok"},
        "test_d (t.T)": {"ok"},
    }


def official(folder: Path, script: str) -> Official:
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Official(str(program))


@pytest.mark.parametrize("resolved", [True, False])
async def test_the_official_report_is_taken_at_its_word(resolved: bool, tmp_path: Path, instance: Instance) -> None:
    report = json.dumps({instance.id: {"resolved": resolved}})
    place = f"logs/run_evaluation/mesocosm/mesocosm/{instance.id}"
    evaluator = official(
        tmp_path, f"grep -q '+x' predictions.jsonl && mkdir -p {place} && echo '{report}' > {place}/report.json"
    )
    assert (await evaluator.judge(instance, "+x")).resolved is resolved


@pytest.mark.parametrize("script", ["echo no image; exit 1", "true"])
async def test_without_an_official_report_nobody_can_tell(script: str, tmp_path: Path, instance: Instance) -> None:
    found = await official(tmp_path, script).judge(instance, "+x")
    assert found.resolved is None
    assert "left no report" in found.reason


def test_each_evaluator_takes_its_own_instances(repositories: Repositories, instance: Instance) -> None:
    published = msgspec.structs.replace(instance, gold=Gold("p", row={"instance_id": "i"}), files={})
    assert (Confined(repositories).fits(instance), Official().fits(instance)) == (True, False)
    assert (Confined(repositories).fits(published), Official().fits(published)) == (False, True)
