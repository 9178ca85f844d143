"""The Python API asks LiteLLM's proxy, by itself and through the clients that agents make."""

from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import OpenAI
from tests.foreign.real_servers import KEY, RealServer

import mesocosm as mc

ROWS = [{"question": "How many? [[say 4]]", "answer": "4"}, {"question": "And now? [[say 5]]", "answer": "5"}]


async def with_openai(question: str, ctx: mc.Context) -> str | None:
    # Blocking in a coroutine, as people write it.
    with OpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
        reply = client.chat.completions.create(model=ctx.model, messages=[{"role": "user", "content": question}])
    return reply.choices[0].message.content


async def with_anthropic(question: str, ctx: mc.Context) -> str:
    async with AsyncAnthropic(base_url=ctx.base_url.removesuffix("/v1"), api_key=ctx.api_key) as client:
        reply = await client.messages.create(
            model=ctx.model, max_tokens=50, messages=[{"role": "user", "content": question}]
        )
    return "".join(block.text for block in reply.content if block.type == "text")


async def answers_at_all(answer: str, expected: str, judge: Any) -> bool:
    return bool(answer) and bool(await judge.ask(f"Is this an answer? {answer}"))


@pytest.mark.parametrize("agent", [None, with_openai, with_anthropic])
def test_rows_are_asked_judged_and_recorded(
    litellm_server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = f"openai/{litellm_server.model}@{litellm_server.url}/v1"
    run = mc.evaluate(
        ROWS, prompt="{question}", agent=agent, grader=answers_at_all, model=model, store=tmp_path / "results"
    )
    assert (run.status, run.score, run.usage.calls) == ("finished", 1.0, 4)
    assert run.usage.prompt > 0
    assert all(KEY.encode() not in file.read_bytes() for file in (tmp_path / "results").iterdir())


def test_a_model_that_is_absent_ends_the_run_with_all_of_it_pending(
    litellm_server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = f"openai/absent@{litellm_server.url}/v1"
    run = mc.evaluate(ROWS, prompt="{question}", grader="exact", model=model, store=tmp_path / "results")
    assert (run.status, run.score, run.missing) == ("failed", None, {"not_run": 2})
    assert "absent" in run.error
