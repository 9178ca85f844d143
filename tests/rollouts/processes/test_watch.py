"""Which row holds the event loop of a worker process."""

import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mesocosm.rollouts.processes.watch import IMPORT_S, LoopWatch

ROW = """
def load():
    import slow

def wait():
    import gate
    gate.reached.set()
    gate.go_on.wait()
"""
Watching = Callable[[str], LoopWatch]


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    """Watch a thread in which a row runs a function and does not go on."""
    gate = ModuleType("gate")
    gate.__dict__.update(reached=threading.Event(), go_on=threading.Event())
    monkeypatch.setitem(sys.modules, "gate", gate)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "row.py").write_text(ROW)
    (tmp_path / "slow.py").write_text("import gate\ngate.reached.set()\ngate.go_on.wait()\n")
    threads = []

    def watching(function: str) -> LoopWatch:
        thread = threading.Thread(target=getattr(importlib.import_module("row"), function))
        threads.append(thread)
        thread.start()
        gate.reached.wait()
        watch = LoopWatch(tmp_path, "row-", tmp_path / "watch.json")
        watch.row_of = lambda: "row-1"
        watch._main = thread.ident or 0
        return watch

    yield watching
    gate.go_on.set()
    for thread in threads:
        thread.join()
    for name in ("row", "slow"):
        sys.modules.pop(name, None)


def held(folder: Path) -> float:
    file = folder / "watch.json"
    return float(json.loads(file.read_text())["now"]["seconds"]) if file.exists() else 0.0


def test_a_row_that_waits_holds_the_loop(watching: Watching, tmp_path: Path) -> None:
    watch = watching("wait")
    for _ in range(3):
        watch._look(1.0)
    assert held(tmp_path) == 2.0


def test_a_row_that_imports_a_package_does_not(watching: Watching, tmp_path: Path) -> None:
    watch = watching("load")
    for _ in range(3):
        watch._look(1.0)
    assert held(tmp_path) == 0.0


def test_an_import_that_does_not_end_holds_the_loop_at_last(watching: Watching, tmp_path: Path) -> None:
    watch = watching("load")
    watch._look(IMPORT_S)
    for _ in range(2):
        watch._look(1.0)
    assert held(tmp_path) == 2.0
