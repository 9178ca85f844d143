"""A run of a platform: a worker plays it with a model on a real server."""

from typing import Any

from tests.foreign.real_servers import KEY, RealServer
from tests.server.workers.conftest import World, open_platform, platform, world

from mesocosm.core.event import Kind
from mesocosm.core.run import RunStatus

__all__ = ["open_platform", "platform", "world"]


def test_a_worker_plays_with_a_model_on_a_real_server(
    platform: Any, world: World, real_server: RealServer, monkeypatch: Any
) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", KEY)
    run_id = platform.order(world.url, (1, 2), model=real_server.named())
    assert platform.worker("--once", MESOCOSM_API_KEY=KEY).wait(240) == 0
    run = platform.run(run_id)
    store = platform.service.store
    episodes = store.episodes.search(run_id).items
    calls = [
        event.payload for one in episodes for event in store.traces.events(one.id) if event.kind == Kind.MODEL_CALL
    ]
    assert (run.status, len(episodes), run.counts.pending) == (RunStatus.FINISHED, 2, 0), (
        episodes[0].failure and episodes[0].failure.detail + episodes[0].failure.message
    )
    assert {one.failure.cause if one.failure else "" for one in episodes} <= {
        "",
        "malformed_action",
        "reply_truncated",
    }
    assert calls
    assert {call["model"].removeprefix("openai/").partition("@")[0] for call in calls} == {real_server.model}
    assert run.usage.calls == len(calls)


def test_a_worker_with_a_wrong_key_gives_no_result(
    platform: Any, world: World, llama_server: RealServer, monkeypatch: Any
) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", "sk-of-somebody-else")
    run_id = platform.order(world.url, (1, 2), model=llama_server.named())
    assert platform.worker("--once", MESOCOSM_API_KEY="sk-of-somebody-else").wait(240) == 0
    run = platform.run(run_id)
    assert run.status is not RunStatus.FINISHED
    assert run.primary is None or run.primary.value is None
    assert "sk-of-somebody-else" not in run.error
