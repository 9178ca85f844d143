"""Environments of a guest that our agents play step by step."""

from typing import Any

import pytest

import mesocosm as mc
from mesocosm.core.failure import UsageError


def info(episode: mc.Episode) -> dict[str, Any]:
    """Return what the last step said."""
    found: dict[str, Any] = [event for event in episode.events if event.kind == "step_result"][-1].payload["info"]
    return found


async def test_an_oracle_of_the_guest_earns_the_reward() -> None:
    run = await mc.aevaluate("counter:up", model="builtin/oracle", only=[1, 2, 3], progress=False)
    assert run.metrics["mean_reward"] == 1.0


async def test_the_environment_is_closed_with_its_episode() -> None:
    run = await mc.aevaluate("counter:up", model="builtin/oracle", only=[1, 2, 3], parallel=1, progress=False)
    assert [info(episode)["open"] for episode in run.episodes()] == [1, 1, 1]


async def test_the_guest_knows_the_repetition() -> None:
    run = await mc.aevaluate("counter:up", model="builtin/oracle", only=[1], trials=3, progress=False)
    assert sorted(info(episode)["trial"] for episode in run.episodes()) == [0, 1, 2]


async def test_the_step_limit_of_the_guest_truncates() -> None:
    run = await mc.aevaluate("counter:up", model="builtin/oracle", only=[50], progress=False)
    assert [episode.status for episode in run.episodes()] == ["truncated"]


async def test_an_action_outside_of_the_space_is_not_passed_on() -> None:
    run = await mc.aevaluate("counter:up", model="builtin/empty", only=[1], progress=False)
    (episode,) = run.episodes()
    assert episode.cause == "malformed_action"


async def test_an_option_that_is_no_path_is_refused() -> None:
    with pytest.raises(UsageError, match="python=3 is no path of an interpreter"):
        await mc.aevaluate("counter:up", model="builtin/oracle", params={"python": 3})
