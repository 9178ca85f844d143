"""Guests of the tests' own: a framework that adds, and one that counts, each in a process as every other guest."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef
from mesocosm.guests.benchmark import GuestBenchmark
from mesocosm.guests.kinds import GuestKind
from mesocosm.guests.opening import open_guest
from mesocosm.testing.model_server import ModelServer

HERE = Path(__file__).parent
ADDER = GuestKind("adder", "Adder", "N", ("json",), ("adder",), str(HERE / "adder.py"))
COUNTER = GuestKind("counter", "Counter", "N", ("json",), ("counter",), str(HERE / "counter.py"), stepped=True)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results and guests of the test alone, and nothing of the user's settings."""
    for name in list(os.environ):
        ours = name.startswith("MESOCOSM_") and not name.startswith("MESOCOSM_TEST_")
        if ours or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(tmp_path / "results"))
    monkeypatch.setenv("MESOCOSM_GUESTS_DIR", str(tmp_path / "guests"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test-0123456789")
    return tmp_path


@pytest.fixture(autouse=True)
def sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frameworks of the tests, as sources of benchmarks."""
    monkeypatch.setattr(SOURCES, "_own", dict(SOURCES._own))

    @SOURCES.register("adder")
    def adder(ref: BenchmarkRef) -> GuestBenchmark:
        return open_guest(ADDER, ref)

    @SOURCES.register("counter")
    def counter(ref: BenchmarkRef) -> GuestBenchmark:
        return open_guest(COUNTER, ref)


def summed(body: dict[str, object]) -> str:
    """Answer `1 + n?` correctly."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return str(1 + int(messages[-1]["content"].rstrip("?").split(" + ")[1]))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A model that adds, behind an address."""
    async with ModelServer(summed, models=["adder", "other"]) as running:
        yield running


@pytest.fixture
def model(server: ModelServer) -> str:
    return f"openai/adder@{server.openai_url}"
