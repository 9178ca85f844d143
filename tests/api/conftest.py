"""What all tests of the Python API share: results in a folder of the test, and a strict model server."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mesocosm.testing.model_server import ModelServer

ROWS = [{"question": f"{n} + {n}?", "answer": str(2 * n), "level": "easy" if n < 3 else "hard"} for n in range(6)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of the test, and nothing of the user's settings."""
    for name in list(os.environ):
        if name.startswith("MESOCOSM_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(tmp_path / "results"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test-0123456789")
    return tmp_path


def doubled(body: dict[str, object]) -> str:
    """Answer `n + n?` correctly."""
    messages = body["messages"]
    assert isinstance(messages, list)
    said = messages[-1]["content"]
    return str(2 * int(said.split(" + ")[0].split()[-1]))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A model that adds, behind an address."""
    async with ModelServer(doubled, models=["adder", "other"]) as running:
        yield running


@pytest.fixture
def model(server: ModelServer) -> str:
    return f"openai/adder@{server.openai_url}"
