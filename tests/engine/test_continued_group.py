"""What a growing benchmark has found lies where its run was begun, and is looked for there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mesocosm.benchmarks.opening import open_benchmark
from mesocosm.core.ports import Parts
from mesocosm.core.run import BenchmarkRef, Counts, RunStatus
from mesocosm.engine.group import _where_begun
from mesocosm.engine.rerun_decision import RerunAction, RerunPolicy, decide

DESCRIPTOR = """
id = "toy"
title = "Toy"
description = "A program of a test."
kind = "command"
source = "the tests"
licence = "none"
version = "1"
[command]
argv = ["true"]
"""


@pytest.mark.parametrize("items", ["", 'items = "items.jsonl"'])
async def test_only_a_growing_benchmark_is_opened_where_its_run_was_begun(lab: Any, tmp_path: Path, items: str) -> None:
    (tmp_path / "benchmark.toml").write_text(DESCRIPTOR + items)

    def ref(output: str) -> BenchmarkRef:
        return BenchmarkRef("benchmark", "toy", {"folder": str(tmp_path), "output": output})

    now = open_benchmark(ref("now"))
    parts = Parts(now, lab.models.setdefault("m", None), None)  # type: ignore[arg-type]
    run: Any = type("Begun", (), {"spec": lab.spec("m", world=ref("then"))})
    async with _where_begun(run, parts) as own:
        opened: Any = own.benchmark
        assert opened.setup.output == Path("then" if items else "now")


@pytest.mark.parametrize(
    ("growing", "status", "action"),
    [
        (True, RunStatus.STOPPED, RerunAction.RESUME),
        (True, RunStatus.FAILED, RerunAction.RUN),
        (False, RunStatus.STOPPED, RerunAction.RESUME),
        (False, RunStatus.FAILED, RerunAction.RUN),
    ],
)
def test_a_growing_run_that_was_cut_off_is_continued_though_nothing_known_is_owed(
    growing: bool, status: RunStatus, action: RerunAction
) -> None:
    counts, info = Counts(planned=1, completed=3), {"growing": growing}
    run: Any = SimpleNamespace(id="r", status=status, counts=counts, info=info, error="", holder=None, regraded="")
    store: Any = SimpleNamespace(
        runs=SimpleNamespace(latest=lambda _: run, finished=lambda _: ()),
        leases=SimpleNamespace(active=lambda _: False),
    )
    assert decide(store, "s", RerunPolicy()).action is action
