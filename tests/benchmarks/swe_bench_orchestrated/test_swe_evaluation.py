"""Evaluation: what resolves an instance, and what only looks like it."""

import json
from pathlib import Path

import msgspec
import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.evaluation import (
    Confined,
    Official,
    apply_check,
)
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Repositories

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


def instead(code: str) -> str:
    """Return a patch that replaces the code under test."""
    lines = code.splitlines()
    head = f"--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,{len(lines)} @@\n"
    return head + "-def double(number):\n-    return number + number + 1\n" + "".join(f"+{line}\n" for line in lines)


FORGED = """import re
for name in re.findall(r"def (test_\\w+)", open("test_double.py").read()):
    print(f"{name} (test_double.DoubleTest.{name}) ... ok", flush=True)
"""
SILENT = """import sys, types
class Any_:
    def __getattr__(self, name): return lambda *a, **k: None
    def __call__(self, *a, **k): return self
unittest = sys.modules["unittest"] = types.ModuleType("unittest")
class TestCase:
    def __init__(self, name=""): self.name = name
    def run(self, result=None): print(self.name, "... ok")
unittest.TestCase = TestCase
unittest.main = lambda *a, **k: None
"""
ALWAYS = """class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __sub__(self, other): return 0
    __hash__ = None
double = lambda number: Always()
"""
ATTACKS = {
    "a comment": before("# solved"),
    "a new file": new("notes.txt", "solved"),
    "an early end": before("import os\nos._exit(0)"),
    "an exit": before("import sys\nsys.exit(0)"),
    "an end at exit": before("import atexit, os\natexit.register(os._exit, 0)"),
    "a forged report": before(f"{FORGED}import os\nos._exit(0)"),
    "a forged report beside the true one": before(FORGED),
    "silent assertions": before(
        "import unittest\nunittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *all: None"
    ),
    "a patched run of tests": before("import unittest\nunittest.TestCase.run = lambda self, result: None"),
    "a result that never fails": before(
        "import unittest\nunittest.TestResult.addFailure = unittest.TestResult.addSuccess"
    ),
    "a test runner of its own": new("unittest.py", SILENT),
    "a test runner of its own, as a package": new("unittest/__init__.py", SILENT),
    "a module of the library": new("json.py", "def dumps(*a, **k): return '{}'\nloads = dumps"),
    "a startup file": new("sitecustomize.py", SILENT),
    "a startup file of the user": new("usercustomize.py", SILENT),
    "a path file": new("x.pth", "import os; os._exit(0)"),
    "an egg link": new("x.egg-link", "/tmp"),
    "a hook of pytest": new("conftest.py", "def pytest_runtest_call(item): item.obj = lambda: None"),
    "a plugin of pytest": new("pytest.ini", "[pytest]\naddopts = -p no:terminal --collect-only"),
    "settings of pytest": new("setup.cfg", "[tool:pytest]\naddopts = --collect-only"),
    "settings of tox": new("tox.ini", "[pytest]\naddopts = --collect-only"),
    "settings of a project": new("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--collect-only'"),
    "other tests": BROUGHT.replace("self.assertEqual(double(2), 4)", "pass"),
    "a module beside the test": new("test_double/__init__.py", "class DoubleTest: pass"),
    "a command that fails": before("raise RuntimeError('test_it_doubles (test_double.DoubleTest) ... ok')"),
    "an object that equals everything": instead(ALWAYS),
    "an object of the library that equals everything": instead(
        "from unittest.mock import ANY\ndouble = lambda number: ANY"
    ),
    "a number that equals everything": instead(
        "class Number(int):\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        "double = lambda number: Number(9)"
    ),
    "the caller's values": instead(
        "import sys\ndef double(number):\n    frame = sys._getframe()\n    found = 5\n    while frame:\n"
        "        found = frame.f_locals.get('second', found)\n        frame = frame.f_back\n    return found"
    ),
    "the tests on disk": instead(
        "import pathlib, re\ndef double(number):\n"
        "    for root in ('.', '/tmp', '/proc/self/fd', '/work', '/root', '/home'):\n"
        "        for path in pathlib.Path(root).rglob('test_double.py'):\n"
        "            found = re.search(r'double\\(2\\), (\\d+)', path.read_text())\n"
        "            if found: return int(found[1])\n    return 5"
    ),
    "frames of the runner": before(
        "import sys\nframe = sys._getframe()\n"
        "while frame:\n    frame.f_globals.update(reason=lambda *a: '', run=lambda *a: '')\n    frame = frame.f_back"
    ),
    "a verdict on every descriptor": before(
        'import os\nfor number in range(64):\n    try: os.write(number, b\'{"token": "", "results": ["", ""]}\\n\')\n'
        "    except OSError: pass"
    ),
    "a signal to the runner": before("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    "a protocol of its own": before('import os\nos.write(31, b\'{"value": {"type": "object"}, "shared": {}}\\n\' * 9)'),
    "memory of the runner": before(
        "import os\ntry: open(f'/proc/{os.getppid()}/mem', 'r+b').write(b'x')\nexcept OSError: pass"
    ),
}


async def test_the_reference_repair_resolves(repositories: Repositories, instance: Instance) -> None:
    found = await Confined(repositories).judge(instance, instance.gold.patch)
    assert found.resolved is True, found.reason


async def test_no_attack_on_the_tests_resolves_anything(repositories: Repositories, instance: Instance) -> None:
    evaluator = Confined(repositories)
    for kind, patch in ATTACKS.items():
        assert await apply_check(instance, patch, repositories) == "", kind
        found = await evaluator.judge(instance, patch)
        assert found.resolved is False, f"{kind}: {found.reason}"


async def test_a_repair_beside_files_that_shadow_the_library_resolves(
    repositories: Repositories, instance: Instance
) -> None:
    found = await Confined(repositories).judge(instance, instance.gold.patch + ATTACKS["a test runner of its own"])
    assert found.resolved is True, found.reason


async def test_no_change_does_not_apply(repositories: Repositories, instance: Instance) -> None:
    assert await apply_check(instance, " \n", repositories) == "there is no change"


async def test_a_repair_that_breaks_another_test_resolves_nothing(
    repositories: Repositories, instance: Instance
) -> None:
    head = "--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,1 @@\n"
    gone = f"{head}-def double(number):\n-    return number + number + 1\n+double = 4\n"
    assert (await Confined(repositories).judge(instance, gone)).resolved is False


CODE = """--- /dev/null
+++ b/shelf.py
@@ -0,0 +1,40 @@
+class Full(ValueError):
+    def __init__(self, most):
+        super().__init__(f"only {most}")
+        self.most = most
+
+
+class Shelf:
+    def __init__(self, most, notify=None):
+        self.most, self.items, self.notify = most, [], notify
+
+    def put(self, item):
+        if len(self.items) >= self.most:
+            raise Full(self.most)
+        self.items.append(item)
+        if self.notify:
+            self.notify(item)
+        return self
+
+    def __len__(self):
+        return len(self.items)
+
+    def __iter__(self):
+        return iter(self.items)
+
+    def __getitem__(self, place):
+        return self.items[place]
+
+    def __enter__(self):
+        return self
+
+    def __exit__(self, *error):
+        self.items.clear()
+
+
+def drained(bundle):
+    while bundle:
+        yield bundle.pop()
+
+
+NONE = Shelf(0)
"""
USES = """import unittest
import pytest
from shelf import Full, NONE, Shelf, drained
import shelf


class ShelfTest(unittest.TestCase):
    def setUp(self):
        self.told = []
        self.shelf = Shelf(2, notify=self.told.append)

    def test_bundles(self):
        thing = {"a": [1]}
        self.assertIs(self.shelf.put(thing), self.shelf)
        self.assertEqual((len(self.shelf), list(self.shelf), self.shelf[0]), (1, [{"a": [1]}], thing))
        thing["a"].append(2)
        self.assertEqual(self.shelf[0], {"a": [1, 2]})
        self.shelf.items.append(3)
        self.assertEqual((len(self.shelf), self.shelf[-1:], self.told), (2, [3], [thing]))

    def test_errors(self):
        with self.assertRaisesRegex(Full, "only 0") as caught:
            shelf.NONE.put(1)
        self.assertEqual(caught.exception.most, 0)
        with self.assertRaises(ValueError):
            NONE.put(1)
        with self.assertRaises(AttributeError):
            NONE.nothing

    def test_protocols(self):
        given = [1, 2]
        self.assertEqual(list(drained(given)), [2, 1])
        self.assertEqual(given, [])
        with Shelf(1) as held:
            held.put((1, None, b"x", {2}, 2.5))
            self.assertTrue(held)
            self.assertIsInstance(held, Shelf)
        self.assertFalse(held)

    def test_says_yes(self):
        self.assertEqual(Shelf(1), Shelf(1))

    def test_sets(self):
        shelf.Shelf = None


def test_alone():
    assert sorted(Shelf(1).put("x")) == ["x"]
    with pytest.raises(Full):
        NONE.put(1)
"""
NAMES = [f"test_shelf.ShelfTest.test_{name}" for name in ("bundles", "errors")]
NAMES += ["test_protocols (test_shelf.ShelfTest)", "tests/test_shelf.py::test_alone"]


def shelved(instance: Instance, *names: str) -> Instance:
    brought = new("tests/test_shelf.py", USES)
    gold = Gold(CODE, brought, names, (), "pytest -v")
    return msgspec.structs.replace(instance, gold=gold, files={"readme.md": "x\n"})


async def test_objects_bundles_errors_and_callbacks_go_between_tests_and_code(
    repositories: Repositories, instance: Instance
) -> None:
    found = await Confined(repositories).judge(shelved(instance, *NAMES), CODE)
    assert found.resolved is True, found.reason


HELPED = """import pathlib, pytest
from code_of import double


def test_it_refuses():
    with pytest.raises(ValueError):
        double("x")


def test_it_is_as_written():
    assert double(2) == int((pathlib.Path("tests") / "expected.txt").read_text())
"""
SILENT_RAISES = "import contextlib\nraises = contextlib.suppress"
NEVER_RAISES = instead("def double(number): return 5")
LIBRARIES = {
    "a shadowed pytest": NEVER_RAISES + new("pytest.py", SILENT_RAISES),
    "a shadowed pytest, as a package": NEVER_RAISES + new("pytest/__init__.py", SILENT_RAISES),
    "a shadowed part of pytest": NEVER_RAISES + new("_pytest/python_api.py", SILENT_RAISES),
    "pytest in a folder of code": NEVER_RAISES + new("src/pytest.py", SILENT_RAISES),
    "an error of every kind": instead(
        "class Any(ValueError, KeyError, IndexError, TypeError, AttributeError): pass\n"
        "def double(number):\n    raise Any"
    ),
    "other data of the tests": "--- a/tests/expected.txt\n+++ b/tests/expected.txt\n@@ -1 +1 @@\n-4\n+5\n",
    "a link in place of data": (
        "diff --git a/tests/expected.txt b/tests/expected.txt\ndeleted file mode 100644\n--- a/tests/expected.txt\n"
        "+++ /dev/null\n@@ -1 +0,0 @@\n-4\n"
        "diff --git a/tests/expected.txt b/tests/expected.txt\nnew file mode 120000\n--- /dev/null\n"
        "+++ b/tests/expected.txt\n@@ -0,0 +1 @@\n+../five.txt\n\\ No newline at end of file\n" + new("five.txt", "5")
    ),
}


async def test_neither_packages_nor_data_of_the_tests_can_be_replaced(
    repositories: Repositories, instance: Instance
) -> None:
    names = [f"tests/test_help.py::test_it_{name}" for name in ("refuses", "is_as_written")]
    gold = Gold(
        instead("def double(number):\n    if isinstance(number, str): raise ValueError\n    return 2 * number"),
        new("tests/test_help.py", HELPED),
        (names[0],),
        (),
        "pytest",
    )
    helped = msgspec.structs.replace(instance, gold=gold, files={**instance.files, "tests/expected.txt": "4\n"})
    evaluator = Confined(repositories)
    assert (await evaluator.judge(helped, gold.patch)).resolved is True
    for kind, patch in LIBRARIES.items():
        name = names["data" in kind]
        asked = msgspec.structs.replace(helped, gold=msgspec.structs.replace(gold, failing=(name,)))
        found = await evaluator.judge(asked, patch)
        assert found.resolved is False, f"{kind}: {found.reason}"


@pytest.mark.parametrize(("name", "told"), [("says_yes", "compared"), ("sets", "sets Shelf"), ("gone", "test_gone")])
async def test_what_cannot_be_run_apart_decides_nothing(
    name: str, told: str, repositories: Repositories, instance: Instance
) -> None:
    asked = shelved(instance, f"test_shelf.ShelfTest.test_{name}")
    found = await Confined(repositories).judge(asked, CODE)
    assert found.resolved is None
    assert told in found.reason


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
