"""Rollouts written for the published package run as they are, here on the stand-in for it.

Those that need a framework which is not a dependency of ours are run by `python -m tests.rollouts.try_published`.
"""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import invoke
from tests.rollouts import puppet
from tests.rollouts.published_rollout import FRAMEWORKS, Workspace, differences, expected, names

from mesocosm.testing.model_server import ModelServer

HERE = ">=3.11"
"""The stand-in runs on every Python that mesocosm does."""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Return a model that answers from a thread of its own: a command line wants the main one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = ModelServer(puppet.answer)
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(30)
    yield server
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the key of the model")
    monkeypatch.setenv("JUDGE_API_KEY", "the key of the judge")


def run(workspace: Workspace, model: ModelServer, *words: str) -> dict[str, Any]:
    """Run a published rollout and return the document that the command prints."""
    outcome = invoke(*workspace.words(model.openai_url), *words)
    assert outcome.code in {0, 1, 3}, outcome.err
    found = outcome.document["data"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", [name for name in names() if name not in FRAMEWORKS])
def test_a_published_rollout_runs_as_it_is(name: str, tmp_path: Path, model: ModelServer) -> None:
    workspace = Workspace.of(tmp_path, name)
    run(workspace, model, "--in-process")
    assert differences(workspace.rows(), expected(name)) == []


def test_a_reward_function_of_the_first_versions_is_told_what_it_has_to_become(
    tmp_path: Path, model: ModelServer
) -> None:
    workspace = Workspace.of(tmp_path, "decorated")
    outcome = invoke(*workspace.words(model.openai_url), "--in-process")
    assert outcome.code == 2
    assert "osmosis_reward is of osmosis-ai before 0.2.18" in outcome.err
    assert "write a Grader" in outcome.err


def test_all_that_a_client_asks_for_reaches_the_model(tmp_path: Path, model: ModelServer) -> None:
    run(Workspace.of(tmp_path, "extraction"), model, "--in-process", "--rows", "0")
    first, second = (request.body for request in model.calls)
    passed = {"seed": 7, "stop": ["###"], "presence_penalty": 0.5, "parallel_tool_calls": True, "user": "someone"}
    assert first.items() >= passed.items()
    assert (second["seed"], second["logprobs"], second["top_logprobs"], second["top_p"]) == (11, True, 2, 0.9)
    assert second["response_format"]["json_schema"]["name"] == "place"
