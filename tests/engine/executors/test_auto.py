"""Episodes that the processor binds move to several processes by themselves."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from mesocosm.core.run import RunStatus
from mesocosm.engine.executors import auto

Soon = Callable[[Any], Any]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decide at the first look, whatever is left to do, as on a machine with two cores."""
    monkeypatch.setattr(auto, "WATCHED_S", 0.0)
    monkeypatch.setattr(auto, "WORTH_S", 0.0)
    monkeypatch.setattr(auto, "cores", lambda: 2)
    monkeypatch.setattr("mesocosm.engine.execution.KEEP_S", 0.02)


def busy(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Let the thread of the episodes be busy for a share of the time."""
    monkeypatch.setattr(auto, "busy_seconds", lambda: share * time.monotonic())


@pytest.mark.usefixtures("quick")
async def test_busy_episodes_are_played_by_two_processes_and_all_once(
    here: Any, soon: Soon, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(monkeypatch, 1.0)
    here.executor = "auto"
    run = await soon(here.run(here.spec(count=3000)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 3000)
    assert len(here.notices.with_words("several processes play them from now on")) == 1


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("share", "parallel"), [(0.5, 4), (1.0, 1)])
async def test_idle_episodes_and_those_asked_for_one_by_one_stay_where_they_are(
    here: Any, soon: Soon, monkeypatch: pytest.MonkeyPatch, share: float, parallel: int
) -> None:
    busy(monkeypatch, share)
    here.executor = "auto"
    run = await soon(here.run(here.spec(count=600, parallel=parallel)))
    assert run.status is RunStatus.FINISHED
    assert not here.notices.with_words("from now on")
    assert len(here.notices.with_words("--executor processes:2")) == (share == 1.0)


def test_time_in_the_queue_for_a_core_counts_as_busy() -> None:
    before = auto.busy_seconds()
    while auto.busy_seconds() == before:
        pass
    assert auto.busy_seconds() > before
