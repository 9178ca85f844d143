"""Repositories and instances for these tests."""

from pathlib import Path

import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Gold, Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Repositories

CODE = "def double(number):\n    return number + number + 1\n"
TESTS = """import unittest

from code_of import double


class DoubleTest(unittest.TestCase):
    def test_it_exists(self):
        self.assertTrue(callable(double))
"""
NEW = """
    def test_it_doubles(self):
        self.assertEqual(double(2), 4)
"""
FIX = """--- a/code_of.py
+++ b/code_of.py
@@ -1,2 +1,2 @@
 def double(number):
-    return number + number + 1
+    return number + number
"""
BROUGHT = """--- a/test_double.py
+++ b/test_double.py
@@ -6,3 +6,6 @@
 class DoubleTest(unittest.TestCase):
     def test_it_exists(self):
         self.assertTrue(callable(double))
+
+    def test_it_doubles(self):
+        self.assertEqual(double(2), 4)
"""


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    """Return an empty store of repositories."""
    root = tmp_path / "repositories"
    root.mkdir()
    return Repositories(root.resolve())


@pytest.fixture
def instance() -> Instance:
    """Return an instance whose repair is one line."""
    case = "test_double.DoubleTest."
    gold = Gold(
        FIX,
        BROUGHT,
        (f"{case}test_it_doubles",),
        (f"{case}test_it_exists",),
        "python -m unittest -v test_double",
    )
    files = {"code_of.py": CODE, "test_double.py": TESTS, "docs/readme.md": "Doubles.\n"}
    return Instance("own__double-1", "own/double", "base", "double(2) is 5.", gold, files)
