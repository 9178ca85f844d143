"""`mesocosm bench run --remote` and `mesocosm bench compare --remote` against a server with a worker."""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import working

from mesocosm.cli.bench import remote
from mesocosm.client import Client
from mesocosm.server import adapters

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome
    from tests.cli.remote.conftest import Open, Platform

FORMAT = ("--benchmarks", "eliza-format", "--max-examples", "3")
ORACLE = ("--model", "builtin/oracle")


@pytest.fixture
def idle(open_platform: "Open") -> "Platform":
    """A server without a worker, with Ada's command line and her active workspace."""
    opened: Platform = open_platform(cooldown_s=0.0)
    adapters.bind(opened.service)
    opened.is_now("ada")
    opened("workspace", "create", "reefs", "--use")
    return opened


@pytest.fixture
def busy(idle: "Platform") -> Iterator["Platform"]:
    """The same with a worker."""
    with working(idle.service):
        yield idle


def bench(platform: "Platform", *words: str) -> "Outcome":
    return platform("bench", "run", "--remote", *words)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Return what lets something happen once, while a command waits between two polls."""

    def placed(happens: Callable[[], Any]) -> None:
        left = [happens]

        def pause(seconds: float) -> None:
            if left:
                left.pop()()
            time.sleep(seconds)

        monkeypatch.setattr(remote, "time", SimpleNamespace(**{**vars(time), "sleep": pause}))

    return placed


def newest(platform: "Platform") -> Any:
    return Client().runs.list(whose="mine").items[0]


def test_a_benchmark_runs_on_the_server_and_is_shown_as_a_local_one(busy: "Platform") -> None:
    seen = bench(busy, *FORMAT, *ORACLE)
    assert seen.code == 0, seen.err
    run = newest(busy)
    assert f"on {busy.url}, in the workspace" in seen.out
    (row,) = [line for line in seen.out.splitlines() if line.startswith("eliza-format")]
    assert row.split()[1] == "succeeded"
    assert "Summary: succeeded=1 failed=0 skipped=0 incompatible=0" in seen.out
    assert (run.state, run.counts.planned, run.workspace_id is not None) == ("finished", 3, True)
    assert "eliza-format completed: 3/3 done" in seen.err
