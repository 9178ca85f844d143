"""Runs of submissions that a worker plays: a hostile one ends alone."""

import time
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, RunStatus, Selection
from mesocosm.engine import opening
from mesocosm.environments import restarts
from mesocosm.server import adapters as hosted
from mesocosm.server.workers.worker import work
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.server.adapters.conftest import OpenStock, Stock

GONE = "import os\nos._exit(5)"
SPACE = {"type": "text", "enum_values": ["on"]}


def ordered(stock: "Stock", ref: BenchmarkRef, actor: str, parallel: int = 1) -> str:
    """Queue a run of three episodes; return its id."""
    spec = RunSpec(ref, ModelSettings("builtin/random"), selection=Selection((1, 2, 3)), parallel=parallel)
    run = opening.new_run(spec, opening.open_parts(spec))
    stock.service.store.runs.add(run)
    told: dict[str, Any] = {"domain_id": "small", "vow_version": "1.0.0", "model": "builtin/random"}
    stock.service.store.run_requests.add(RunRequest(run_id=run.id, actor=actor, created_at=time.time(), **told))
    return run.id


async def test_runs_of_several_people_are_played_and_a_hostile_one_ends_alone(
    open_stock: "OpenStock", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST", 1)
    stock = open_stock(episodes_at_once=2)
    hosted.bind(stock.service)
    good = stock.built(binding_vow=stock.manifest["binding_vow"] | {"action_space": SPACE})
    hostile = stock.built(stock.adapter.replace("def step(body):", "def step(body):\n    os._exit(4)"))
    dead = stock.built(GONE)
    runs = [ordered(stock, ref, f"user:{number}", 3) for number, ref in enumerate((good, hostile, dead, good))]
    await work(stock.service, once=True)
    first, crashing, never, last = (stock.service.store.runs.get(run_id) for run_id in runs)
    assert [first.status, last.status] == [RunStatus.FINISHED] * 2
    assert first.counts.completed == last.counts.completed == 3
    assert crashing.counts.completed == 0
    assert crashing.status is RunStatus.FAILED
    assert never.status is RunStatus.FAILED
    assert "exit code 5" in never.error
    orders = stock.service.store.run_requests.of(runs)
    assert {order.state for order in orders.values()} == {"ended"}
