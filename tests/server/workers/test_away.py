"""What is away when a worker begins: the run is stopped and owes its episodes, it has not failed."""

import time
from typing import Any, cast

import pytest
from tests.server.workers.conftest import DOMAIN

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Limits, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import opening
from mesocosm.server.run_requests.lifecycle import resume_run
from mesocosm.server.workers.worker import work
from mesocosm.store.run_requests import RunRequest

NOWHERE = "http://127.0.0.1:1"


async def played(platform: Any, world_url: str, model: str) -> Run:
    """Return a run that a worker of this process took up, to its end."""
    spec = RunSpec(
        BenchmarkRef("hosted", "waiting", {"env_url": world_url, "domain": DOMAIN}),
        ModelSettings(model),
        selection=Selection((1, 2, 3)),
        limits=Limits(outage_seconds=0.01),
        parallel=1,
    )
    record = opening.new_run(spec, opening.open_parts(spec))
    platform.service.store.runs.add(record)
    told: dict[str, Any] = {"domain_id": "waiting", "vow_version": "1.0.0", "model": model, "created_at": time.time()}
    platform.service.store.run_requests.add(RunRequest(run_id=record.id, actor="user:1", **told))
    await work(platform.service, once=True)
    return cast(Run, platform.run(record.id))


async def test_a_new_run_whose_model_server_is_away_is_stopped(platform: Any, world: Any) -> None:
    run = await played(platform, world.url, f"openai/m@{NOWHERE}/v1")
    assert (run.status, run.counts.pending) == (RunStatus.STOPPED, 3)
    assert f"nothing answers at {NOWHERE}/v1/models" in run.error
    assert "has not answered since" in run.error
    assert platform.order_state(run.id) == "ended"


async def test_a_new_run_whose_environment_is_away_is_stopped(platform: Any) -> None:
    run = await played(platform, NOWHERE, "builtin/random")
    assert (run.status, run.counts.pending) == (RunStatus.STOPPED, 3)
    assert f"the environment at {NOWHERE}/ cannot be reached" in run.error


async def test_a_stopped_run_that_is_refused_stays_stopped_and_says_why(
    platform: Any, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await played(platform, world.url, f"openai/m@{NOWHERE}/v1")
    resume_run(platform.service, platform.service.store.run_requests.get(run.id))
    monkeypatch.setattr(opening, "open_parts", refused)
    await work(platform.service, once=True)
    run = platform.run(run.id)
    assert (run.status, run.error) == (RunStatus.STOPPED, "the key is missing")


def refused(_: RunSpec) -> Any:
    raise UsageError("the key is missing")
