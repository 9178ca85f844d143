"""The stand-in for osmosis-ai beside the package itself."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.compat.osmosis_surface import Line, listed
from tests.compat.test_osmosis_surface import (  # noqa: F401 - again, where the frameworks are installed
    ours,
    test_every_name_is_there_and_takes_what_it_takes_in_the_package,
)

from mesocosm.compat.osmosis.osmosis_ai.rollout.client import RolloutClient
from mesocosm.compat.osmosis.osmosis_ai.rollout.controller.listener import LocalhostUvicornServer
from mesocosm.rollouts import sdk
from mesocosm.rollouts.sdk.context import ARTIFACT_ROOT_ENV

osmosis_ai = pytest.importorskip("osmosis_ai", reason="osmosis-ai needs Python 3.12")
package: Any = pytest.importorskip("osmosis_ai.rollout")

PROMPT = [{"role": "user", "content": "x"}]


def test_the_table_is_that_of_the_installed_release() -> None:
    release = version("osmosis-ai")
    table = {f"{line.module}|{line.name}": line.what for line in Line.read() if line.since <= release <= line.until}
    if not any(line.until == release or line.since == release for line in Line.read()):
        pytest.skip(f"the table was not made with {release}")
    found = listed()
    assert {key: what for key, what in found.items() if table.get(key) != what} == {}
    assert {key for key in table if key.endswith("|")} == {key for key in found if key.endswith("|")}


class Counted(int):
    """An int of another kind, as numbers of other libraries are."""


VALUES: dict[Any, Any] = {
    "int": Counted(3),
    "fraction": Fraction(1, 2),
    "nan": math.nan,
    "deep": {"list": [1, math.inf, (2.5, None)], 3: True, 0.5: "x"},
    "object": object(),
    "bytes": b"x",
    "set": {1},
}


def numbers() -> dict[Any, Any]:
    """Return the values with those of numpy, if it is installed."""
    try:
        import numpy as np
    except ModuleNotFoundError:
        return VALUES
    theirs = {"f32": np.float32(0.5), "f64": np.float64(0.25), "i64": np.int64(4), "array": np.array([1.0, 2.0])}
    return {**VALUES, **theirs, np.int64(7): 1}


def test_metrics_of_other_kinds_come_out_as_of_the_package() -> None:
    theirs, mine = package.RolloutSample(), sdk.RolloutSample()
    # Set in place, as graders do: the keys are then not checked.
    theirs.metrics.update(numbers())
    mine.metrics.update(numbers())
    assert mine.json_safe_copy().metrics == theirs.json_safe_copy().metrics
    rewards: list[Any] = ["0.5", True, 3, numbers().get("f32", 0.5)]
    for reward in rewards:
        theirs.reward = mine.reward = reward
        assert mine.reward == theirs.reward


class Files:
    """A workflow's run that says whether it got a folder for files."""

    async def run(self, ctx: Any) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": str(ctx.artifacts_dir is not None)}]


class Likes:
    """A grader's grade."""

    async def grade(self, ctx: Any) -> None:
        ctx.set_reward(0.5)


def backend_of(kind: Any) -> Any:
    """Return a backend of the SDK `kind`."""
    workflow = type("Says", (Files, kind.AgentWorkflow), {})
    return kind.LocalBackend(workflow=workflow, grader=type("Graded", (Likes, kind.Grader), {}))


@pytest.mark.parametrize("kind", [package, sdk])
async def test_files_that_cannot_be_written_fail_no_rollout(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(ARTIFACT_ROOT_ENV, str(tmp_path / "file"))
    result = await backend_of(kind).run_workflow(kind.ExecutionRequest(id="r", prompt=PROMPT))
    assert (result.status, result.sample.messages[-1]["content"]) == ("success", "False")


@asynccontextmanager
async def served(kind: Any) -> AsyncIterator[LocalhostUvicornServer]:
    place = import_module("osmosis_ai.rollout.server") if kind is package else sdk
    app = place.create_rollout_server(backend=backend_of(kind), result_wait_timeout_sec=0.5, api_key="k")
    async with app.router.lifespan_context(app), LocalhostUvicornServer(app) as server:
        yield server


def client_of(kind: Any, url: str) -> Any:
    name = "osmosis_ai.rollout.client" if kind is package else RolloutClient.__module__
    return import_module(name).RolloutClient(url=url, api_key="k")


@pytest.mark.parametrize("server", [package, sdk])
@pytest.mark.parametrize("client", [package, sdk])
async def test_each_client_gets_the_same_of_each_server(
    server: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ARTIFACT_ROOT_ENV, str(tmp_path))
    async with served(server) as running:
        asking = client_of(client, running.base_url)
        async with asyncio.timeout(60):
            graded, plain = await asyncio.gather(
                asking.run_rollout(PROMPT, "http://m/v1", "graded", label="4"),
                asking.run_rollout(PROMPT, "http://m/v1", "plain", grade=False),
            )
            nothing = await asking.run_rollout(PROMPT, "http://m/v1", "nothing")
            assert (await asking.wait_idle())["lifecycle"]["active_rollouts"] == 0
        missing = await asking.cancel_rollout("graded")
        await asking.aclose()
    assert (graded.status, graded.sample.reward, graded.sample.messages[-1]["content"]) == ("success", 0.5, "True")
    assert (plain.status, plain.sample.reward) == ("success", None)
    assert (nothing.status, nothing.err_message, nothing.err_category) == ("failure", None, None)
    assert missing.dispositions == {"graded": "not_found"}
