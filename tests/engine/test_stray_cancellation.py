"""A cancellation that nobody asked for is a failure of the benchmark that raised it, and of no other."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.group import OutcomeStatus, RunGroup
from mesocosm.core.run import RunStatus
from mesocosm.engine.group import GroupMember, GroupRunner
from mesocosm.engine.rerun_decision import RerunPolicy
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


class WhileOpening(ClassBenchmark):
    """Raises as code does whose own timeout went wrong."""

    async def open(self, notice: Callable[[str], None]) -> None:
        raise asyncio.CancelledError


class WhileClosing(ClassBenchmark):
    """Raises when its run is over."""

    async def close(self) -> None:
        raise asyncio.CancelledError


async def test_a_run_says_that_its_benchmark_broke_off(lab: "Lab") -> None:
    spec = lab.spec(lab.model(), world=lab.benchmark(WhileOpening(lab.world("Walk"))))
    with pytest.raises(RuntimeError, match="CancelledError"):
        await lab.run(spec)
    run = lab.only_run()
    assert run.status is RunStatus.FAILED
    assert "CancelledError" in run.error


@pytest.mark.parametrize("kind", [WhileOpening, WhileClosing])
async def test_the_other_benchmarks_of_a_group_are_run(lab: "Lab", kind: type[ClassBenchmark]) -> None:
    model = lab.model()
    broken = lab.spec(model, world=lab.benchmark(kind(lab.world("Walk"))))
    group = GroupRunner(RunGroup("rg_1", 1.0), lab.store, RerunPolicy())
    members = [GroupMember("broken", ".", spec=broken), GroupMember("walk", ".", spec=lab.spec(model, count=2))]
    found = await group.run(members)
    assert [result.outcome.status for result in found] == [OutcomeStatus.FAILED, OutcomeStatus.SUCCEEDED]
    assert "CancelledError" in found[0].outcome.reason
