"""The Python API asks real servers, by itself and through the clients that agents make."""

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


@pytest.fixture
def tiny(llama_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a real model of random weights: what it says is nonsense, how it says it is not."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return llama_server.named()


@pytest.mark.parametrize("agent", [None, with_openai])
def test_an_inference_engine_answers_and_judges(tiny: str, tmp_path: Path, agent: Any) -> None:
    judged: list[str] = []

    async def judge_answers(answer: str, expected: str, judge: Any) -> bool:
        judged.append(await judge.ask(f"Is {expected} the same as {answer}?", max_tokens=6))
        return bool(answer) and bool(judged[-1])

    run = mc.evaluate(
        ROWS,
        prompt="{question}",
        agent=agent,
        grader=judge_answers,
        model=tiny,
        max_tokens=6,
        store=tmp_path / "results",
    )
    assert (run.status, run.usage.calls, len(judged)) == ("finished", 4, 2)
    assert run.usage.prompt > 0
    assert 0 < run.usage.completion <= 4 * 6
    assert run.score == 1.0


def test_a_sweep_asks_an_inference_engine_at_once_and_the_same_call_nothing(tiny: str, tmp_path: Path) -> None:
    def sweep() -> mc.Runs:
        return mc.sweep(
            ROWS,
            prompt={"plain": "{question}", "polite": "Please: {question}"},
            grader="normalised",
            model=tiny,
            max_tokens=6,
            parallel=2,
            store=tmp_path / "results",
        )

    found = sweep()
    assert [(run.status, run.usage.calls) for run in found] == [("finished", 2)] * 2
    assert found.compare().pairs[0].difference.n == 2
    assert [run.id for run in sweep()] == [run.id for run in found]
