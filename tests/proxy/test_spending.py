"""Tokens and money are counted wherever they were spent, and a budget is spent once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mesocosm.core.run import Limits, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.engine import session
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import openai

BODY = b'{"messages":[{"role":"user","content":"x"}]}'
TEN = ScriptedAnswer("ok", prompt_tokens=6, completion_tokens=4)


async def test_a_program_that_is_stopped_by_the_runs_budget_keeps_its_calls(lab: Any, post: Any) -> None:
    def program(variables: Any) -> Any:
        return [post(variables, "/chat/completions", BODY)[0] for _ in range(9)]

    async with ModelServer(TEN, models=["m"]) as server:
        limits = Limits(run_tokens=30)
        await lab.play(program, f"vllm/m@{server.openai_url}", limits=limits)
        assert lab.run.status is RunStatus.STOPPED
        assert lab.run.usage == Usage(18, 12, cost_usd=0.0, calls=3)
        for _ in range(2):
            resumed = await session.resume(lab.run.id, lab.store)
            assert resumed.usage == Usage(18, 12, cost_usd=0.0, calls=3)
        assert server.served == 3


async def test_calls_at_once_pass_the_budget_by_no_more_than_those_under_way(lab: Any, post: Any) -> None:
    def program(variables: Any) -> Any:
        with ThreadPoolExecutor(20) as pool:
            return list(pool.map(lambda _: post(variables, "/chat/completions", BODY)[0], range(60)))

    async with ModelServer(TEN, models=["m"]) as server:
        await lab.play(program, f"vllm/m@{server.openai_url}", limits=Limits(run_tokens=100), max_tokens=4)
    assert lab.run.usage.total <= 100 + 20 * 10
    assert lab.run.usage.calls * 10 == lab.run.usage.total


async def test_a_call_that_its_program_cuts_off_is_counted_by_estimate(
    lab: Any, openai_client: Callable[[Any], "openai.OpenAI"]
) -> None:
    def program(variables: Any) -> Any:
        client = openai_client(variables)
        asked: Any = [{"role": "user", "content": "x" * 400}]
        stream: Any = client.chat.completions.create(model="m", messages=asked, stream=True)
        next(stream)
        stream.close()
        client.close()

    async with ModelServer("word " * 4000, models=["m"]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.usage.prompt >= 100
    assert episode.usage.calls == 1
