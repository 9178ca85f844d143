"""Episodes over the WebSocket of an OpenEnv server, and all the ways in which they fail."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.environments.openenv.open_env_server import BadAction, Counter, OpenEnvServer

from mesocosm.agents.observation import content_of
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Image, Text
from mesocosm.core.ports import Environment
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.task import Task
from mesocosm.environments.openenv import session as sessions
from mesocosm.environments.openenv.benchmark import OpenEnvBenchmark, open_openenv


@asynccontextmanager
async def opened(server: OpenEnvServer, **options: Any) -> AsyncIterator[OpenEnvBenchmark]:
    benchmark = open_openenv(BenchmarkRef("openenv", server.url, options))
    await benchmark.open(lambda _: None)
    try:
        yield benchmark
    finally:
        await benchmark.close()


@asynccontextmanager
async def playing(server: OpenEnvServer, seed: int = 1, **options: Any) -> AsyncIterator[Environment]:
    async with opened(server, **options) as benchmark:
        environment = await benchmark.environment(Task(f"seed-{seed}", seed=seed), "e1")
        try:
            yield environment
        finally:
            await environment.close()


def stepping(step: Callable[[Mapping[str, Any]], Any]) -> type[Counter]:
    """Return an environment whose steps are a function."""
    return type("Stepping", (Counter,), {"step": lambda self, action: step(action)})


async def test_an_episode_is_played_with_its_seed_and_its_id() -> None:
    with OpenEnvServer() as server:
        async with playing(server, seed=1) as environment:
            first = await environment.reset()
            one, two = await environment.step("up"), await environment.step("up")
    assert first.data == {"count": 0}
    assert (one.reward, one.terminated) == (0.25, False)
    assert (two.reward, two.terminated, two.observation.data) == (1.0, True, {"count": 2})
    assert server.resets == [{"seed": 1, "episode_id": "e1"}]
    assert server.actions == [{"word": "up"}, {"word": "up"}]


async def test_parameters_of_the_reset_are_sent() -> None:
    with OpenEnvServer() as server:
        async with playing(server, reset={"level": "hard"}) as environment:
            await environment.reset()
    assert server.resets == [{"level": "hard", "seed": 1, "episode_id": "e1"}]


async def test_the_session_is_over_on_the_server_once_an_episode_is_closed() -> None:
    with OpenEnvServer() as server:
        async with playing(server) as environment:
            await environment.reset()
        assert server.sessions == 0


async def test_pings_are_answered_while_nothing_is_asked() -> None:
    # A model may think for minutes, and the server ends connections that do not answer its pings.
    with OpenEnvServer() as server:
        async with opened(server) as benchmark:
            environment = await benchmark.environment(Task("seed-1", seed=1), "e1")
            assert await asyncio.to_thread(server.answered_ping.wait, 30)
            await environment.close()


async def failure_of(step: Callable[[Mapping[str, Any]], Any], **options: Any) -> EpisodeError:
    with OpenEnvServer(stepping(step)) as server:
        async with playing(server, **options) as environment:
            await environment.reset()
            with pytest.raises(EpisodeError) as caught:
                await environment.step("up")
    return caught.value


def raising(error: Exception) -> Callable[[Mapping[str, Any]], Any]:
    def step(action: Mapping[str, Any]) -> Any:
        raise error

    return step


async def test_an_action_that_the_environment_refuses_is_a_malformed_one_and_the_session_lives_on() -> None:
    with OpenEnvServer() as server:
        async with playing(server) as environment:
            await environment.reset()
            with pytest.raises(EpisodeError, match="word: Input should be a valid string") as caught:
                await environment.step(7)
            step = await environment.step("up")
    assert caught.value.cause is Cause.MALFORMED_ACTION
    assert step.observation.data == {"count": 1}


async def test_a_missing_field_of_an_action_is_a_malformed_one() -> None:
    missing = {"type": "missing", "loc": ["other"], "msg": "Field required", "input": {"word": "up"}}
    assert (await failure_of(raising(BadAction(missing)))).cause is Cause.MALFORMED_ACTION


async def test_an_observation_that_breaks_the_environments_own_rules_is_not_the_agents_fault() -> None:
    # The server sends the same code for it.
    wrong = {"type": "greater_than_equal", "loc": ["count"], "msg": "Input should be at least 0", "input": -1}
    assert (await failure_of(raising(BadAction(wrong)))).cause is Cause.ENVIRONMENT_ERROR


async def test_a_rule_that_the_server_cannot_write_down_is_one_for_actions() -> None:
    error = await failure_of(raising(ConnectionRefusedError("Unable to serialize unknown type: <class 'ValueError'>")))
    assert error.cause is Cause.MALFORMED_ACTION


async def test_any_other_end_of_a_session_is_the_environments() -> None:
    error = await failure_of(raising(ConnectionRefusedError("out of memory")))
    assert (error.cause, "SESSION_ERROR: out of memory" in str(error)) == (Cause.ENVIRONMENT_ERROR, True)


async def test_an_environment_that_fails_says_why() -> None:
    error = await failure_of(raising(RuntimeError("the abacus broke")))
    assert error.cause is Cause.ENVIRONMENT_ERROR
    assert "EXECUTION_ERROR: the abacus broke" in str(error)
    assert "up" in error.detail


async def test_a_lost_connection_is_an_unreachable_environment() -> None:
    error = await failure_of(raising(ConnectionAbortedError()))
    assert error.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_no_answer_in_time_is_a_timeout() -> None:
    error = await failure_of(lambda action: None, step_timeout=0.05)
    assert error.cause is Cause.ENVIRONMENT_TIMEOUT


def observed(**fields: Any) -> dict[str, Any]:
    return {"observation": {}, "reward": 0.5, "done": False, **fields}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("not json", "not JSON"),
        ("[1]", "no object with `type` and `data`"),
        ('{"type":"state","data":{}}', "observation or error"),
        ('{"type":"observation","data":{"observation":{},"reward":NaN,"done":false}}', "NaN or infinite"),
        (observed(observation="x"), "`observation` is"),
        (observed(reward="0.5"), "`reward` is"),
        (observed(done=1), "`done` is"),
        (b"bytes", "bytes where a text is expected"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_invalid(answer: Any, words: str) -> None:
    error = await failure_of(lambda action: answer)
    assert words in str(error)
    assert error.cause is Cause.ENVIRONMENT_INVALID


async def test_an_answer_cut_in_half_is_invalid() -> None:
    error = await failure_of(lambda action: json.dumps({"type": "observation", "data": observed()})[:30])
    assert error.cause is Cause.ENVIRONMENT_INVALID


async def test_an_observation_of_many_megabytes_is_invalid() -> None:
    error = await failure_of(lambda action: observed(observation={"x": "y" * (11 * 1024 * 1024)}))
    assert error.cause is Cause.ENVIRONMENT_INVALID


async def test_an_environment_that_is_done_at_reset_plays_nothing() -> None:
    class Over(Counter):
        def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
            return observed(done=True)

    with OpenEnvServer(Over) as server:
        async with playing(server) as environment:
            with pytest.raises(EpisodeError, match="done before the first action") as caught:
                await environment.reset()
    assert caught.value.cause is Cause.ENVIRONMENT_INVALID


async def test_an_environment_that_does_not_reset_says_why() -> None:
    class Broken(Counter):
        def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
            raise RuntimeError("no data here")

    with OpenEnvServer(Broken) as server:
        async with playing(server) as environment:
            with pytest.raises(EpisodeError, match=r"reset at http.*EXECUTION_ERROR: no data here") as caught:
                await environment.reset()
    assert caught.value.cause is Cause.ENVIRONMENT_ERROR


async def test_a_reward_that_stops_coming_is_noted() -> None:
    rewards = iter([0.5, None])
    with OpenEnvServer(stepping(lambda action: observed(reward=next(rewards)))) as server:
        async with playing(server) as environment:
            await environment.reset()
            first, second = await environment.step("a"), await environment.step("b")
    assert first.notes == ()
    assert "has no reward" in second.notes[0]


async def test_without_any_reward_the_info_says_so() -> None:
    with OpenEnvServer(stepping(lambda action: observed(reward=None, metadata={"a": 1}))) as server:
        async with playing(server) as environment:
            await environment.reset()
            step = await environment.step("a")
    assert step.info == {"a": 1, "unrewarded": True}


async def test_no_more_sessions_are_open_than_the_server_takes() -> None:
    with OpenEnvServer(most=3) as server:
        async with opened(server) as benchmark:

            async def play(seed: int) -> float:
                environment = await benchmark.environment(Task(f"seed-{seed}", seed=seed), f"e{seed}")
                try:
                    await environment.reset()
                    reward, over = 0.0, False
                    while not over:
                        step = await environment.step("up")
                        reward, over = reward + step.reward, step.terminated
                    return reward
                finally:
                    await environment.close()

            rewards = await asyncio.gather(*(play(seed) for seed in range(40)))
    assert rewards == [1.0 + 0.25 * (seed % 3) for seed in range(40)]
    assert (server.at_once, len(server.resets)) == (3, 40)
    assert 0 < server.refused < 40


async def test_a_full_server_is_asked_again_until_others_leave() -> None:
    with OpenEnvServer(most=0) as server:
        waited: list[float] = []

        async def pause(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                server.most = 1

        async with playing(server) as environment:
            environment._pause = pause  # type: ignore[attr-defined]
            await environment.reset()
            assert (await environment.step("up")).observation.data == {"count": 1}
    assert waited == list(sessions.FULL_WAITS[:3])


async def test_a_server_that_stays_full_is_unreachable() -> None:
    with OpenEnvServer(most=0) as server:

        async def pause(seconds: float) -> None:
            return

        async with playing(server) as environment:
            environment._pause = pause  # type: ignore[attr-defined]
            with pytest.raises(EpisodeError, match="the server is full") as caught:
                await environment.reset()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_a_server_that_is_gone_is_unreachable_before_anything_is_sent() -> None:
    with OpenEnvServer() as server:
        benchmark = open_openenv(BenchmarkRef("openenv", server.url, {}))
        await benchmark.open(lambda _: None)
    with pytest.raises(EpisodeError, match="cannot connect") as caught:
        await benchmark.environment(Task("seed-1", seed=1), "e1")
    await benchmark.close()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_there_is_no_oracle() -> None:
    with OpenEnvServer() as server:
        async with playing(server) as environment:
            with pytest.raises(EpisodeError, match="offers no oracle") as caught:
                await environment.oracle()
    assert caught.value.cause is Cause.MODEL_MISSING


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


async def test_a_picture_in_an_observation_is_shown_as_a_picture() -> None:
    shown = {"screenshot": PIXEL, "x": 1}
    with OpenEnvServer(stepping(lambda action: observed(observation=shown))) as server:
        async with playing(server) as environment:
            await environment.reset()
            content = content_of((await environment.step("a")).observation)
    assert content == (Text('{"screenshot":"(image 1)","x":1}'), Image("image/png", PIXEL))
