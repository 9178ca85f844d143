"""Benchmarks that ask no model: whatever model is named, it is not opened."""

from typing import TYPE_CHECKING

import msgspec
import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Context
from mesocosm.core.run import BenchmarkRef, RunStatus
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


def offline(lab: "Lab") -> BenchmarkRef:
    benchmark = ClassBenchmark(lab.world("Walk"))
    benchmark._info = msgspec.structs.replace(benchmark.info, offline=True)
    return lab.benchmark(benchmark)


async def leave(context: Context) -> None:
    await context.reset()
    await context.step("end")


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "nobody/nothing", "vllm/x@http://127.0.0.1:9/v1"])
async def test_an_offline_benchmark_needs_neither_key_nor_server_nor_package(
    lab: "Lab", model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = await lab.run(lab.spec(model, world=offline(lab), agent=lab.agent(leave)))
    assert (run.status, run.counts.completed, run.model) == (RunStatus.FINISHED, 3, model)


async def test_an_offline_run_can_be_resumed(lab: "Lab") -> None:
    spec = lab.spec("openai/gpt-4o-mini", world=offline(lab), agent=lab.agent(leave))
    run = await lab.run(spec)
    assert (await lab.resume(run.id)).counts.completed == 3


async def test_an_agent_that_asks_ends_the_run_and_hears_why(lab: "Lab") -> None:
    run = await lab.run(lab.spec("openai/gpt-4o-mini", world=offline(lab)))
    assert (run.status, run.counts.done) == (RunStatus.FAILED, 0)
    assert "offline" in run.error
    assert "openai/gpt-4o-mini" in run.error


async def test_a_name_that_is_no_model_is_refused_even_offline(lab: "Lab") -> None:
    with pytest.raises(UsageError, match="provider/name"):
        await lab.run(lab.spec("nonsense", world=offline(lab), agent=lab.agent(leave)))
