"""Functions and classes as agents and graders."""

import asyncio
from typing import Any, cast

import pytest
from openai import AsyncOpenAI, OpenAI
from tests.api.conftest import ROWS

import mesocosm as mc
from mesocosm.testing.model_server import ModelServer

TWO = ROWS[:2]


async def evaluated(model: str | None, **arguments: object) -> mc.Run:
    given = {"prompt": "{question}", "grader": "numeric", "model": model, "what": TWO, **arguments}
    return await mc.aevaluate(given.pop("what"), **given)


async def with_a_client(question: str, ctx: mc.Context) -> list[dict[str, Any]]:
    async with AsyncOpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
        messages: list[Any] = [{"role": "user", "content": question}]
        reply = await client.chat.completions.create(model=ctx.model, messages=messages)
    return [*messages, {"role": "assistant", "content": reply.choices[0].message.content}]


async def with_a_blocking_client(question: str, ctx: mc.Context) -> str | None:
    with OpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
        reply = client.chat.completions.create(model=ctx.model, messages=[{"role": "user", "content": question}])
    return reply.choices[0].message.content


def on_a_thread(question: str, ctx: mc.Context) -> str:
    return ctx.ask_now(question)


async def that_asks(question: str, *, ctx: mc.Context) -> str:
    ctx.log("asking")
    ctx.score("turns", 1)
    return await ctx.ask([{"role": "user", "content": question}], max_tokens=10)


@pytest.mark.parametrize("agent", [with_a_client, with_a_blocking_client, on_a_thread, that_asks])
async def test_calls_of_an_agent_are_recorded_whatever_makes_them(server: ModelServer, model: str, agent: Any) -> None:
    run = await evaluated(model, agent=agent)
    assert (run.score, run.usage.calls, server.served) == (1.0, 2, 2)
    episode = next(run.episodes())
    assert [event.kind.value for event in episode.events].count("model_call") == 1
    assert episode.messages[-1] == {"role": "assistant", "content": "0"}


async def test_numbers_of_an_agent_are_metrics_of_the_run(model: str) -> None:
    assert (await evaluated(model, agent=that_asks)).metrics["turns"] == 1.0


class Adder:
    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, row: dict[str, str]) -> str:
        return str(2 * int(row["question"].split()[0]) + self.more)


async def test_an_agent_without_ctx_needs_no_model_and_says_so() -> None:
    run = await evaluated(None, prompt=None, agent=Adder(0))
    assert (run.model, run.score) == ("–", 1.0)
    assert any("not recorded" in note for note in run.notes)
    assert (await evaluated(None, prompt=None, agent=Adder(1))).score == 0.0


async def test_an_agent_that_raises_has_failed_its_task() -> None:
    def broken(question: str) -> str:
        raise ValueError(f"no idea about {question}")

    run = await evaluated(None, agent=broken)
    assert (run.status, run.score) == ("finished", 0.0)
    episode = next(run.episodes())
    assert (episode.status, episode.cause) == ("failed", "agent_error")
    assert "ValueError: no idea about 0 + 0?" in episode.error
    assert run.why()[0]["cause"] == "agent_error"


async def test_an_agent_that_returns_nothing_has_failed() -> None:
    run = await evaluated(None, agent=lambda question: None)
    assert (run.score, next(run.episodes()).cause) == (0.0, "agent_error")


async def test_an_agent_that_takes_too_long_is_ended() -> None:
    async def slow(question: str) -> str:
        await asyncio.Event().wait()
        return ""

    run = await evaluated(None, agent=slow, timeout=0.05)
    assert (run.score, next(run.episodes()).cause) == (0.0, "agent_timeout")


class Workflow(mc.AgentWorkflow[Any]):
    async def run(self, ctx: mc.AgentWorkflowContext[Any]) -> mc.AgentWorkflowOutput:
        from mesocosm.rollouts.sdk import get_rollout_context

        rollout = get_rollout_context()
        assert rollout is not None
        client = rollout.openai()
        reply = await client.chat.completions.create(model="any", messages=cast(Any, ctx.prompt))
        said = {"role": "assistant", "content": reply.choices[0].message.content}
        return mc.AgentWorkflowOutput(messages=[*ctx.prompt, said], metrics={"turns": 1})


class Exact(mc.Grader):
    async def grade(self, ctx: mc.GraderContext) -> None:
        assert ctx.sample is not None
        ctx.set_reward(float(ctx.sample.messages[-1]["content"] == ctx.label))
        ctx.set_score("length", len(ctx.sample.messages))


async def test_workflow_and_grader_classes_work_as_they_are(model: str) -> None:
    run = await evaluated(model, agent=Workflow, grader=Exact)
    assert (run.metrics["exact"], run.metrics["length"], run.metrics["turns"], run.usage.calls) == (1.0, 2.0, 1.0, 2)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (lambda: "x", "takes no question"),
        (lambda ctx: "x", "takes no question"),
        (lambda q, context: "x", "a parameter 'context'"),
        ("nowhere.py:solve", "there is no file"),
        (7, "is no agent"),
    ],
)
async def test_what_cannot_be_an_agent_is_refused_before_anything_runs(agent: Any, words: str) -> None:
    with pytest.raises(mc.UsageError, match=words):
        await evaluated(None, agent=agent)
    assert len(mc.runs()) == 0


def boolean(answer: str, expected: str) -> bool:
    return answer == expected


def with_explanation(answer: str, expected: str) -> tuple[float, str]:
    return 0.5, "half"


def with_more(answer: str, expected: str) -> dict[str, Any]:
    return {"score": 1, "short": True, "explanation": "all of it"}


def of_row(answer: str, expected: str, row: dict[str, str], messages: list[Any], input: str) -> bool:  # noqa: A002
    return row["question"] == input and messages[-1]["content"] == answer == expected


async def asynchronous(answer: str, expected: str) -> mc.Score:
    return mc.Score("anything", 0.25)


@pytest.mark.parametrize(
    ("grader", "metrics"),
    [
        (boolean, {"boolean": 1.0}),
        (with_explanation, {"with_explanation": 0.5}),
        (with_more, {"with_more": 1.0, "short": 1.0}),
        (of_row, {"of_row": 1.0}),
        (asynchronous, {"asynchronous": 0.25}),
        (lambda answer: len(answer) == 1, {"score": 1.0}),
        (["exact", boolean], {"exact": 1.0, "boolean": 1.0}),
        ({"first": boolean, "second": "numeric"}, {"first": 1.0, "second": 1.0}),
        (mc.graders.NumericGrader(tolerance=5), {"numeric": 1.0}),
    ],
)
async def test_graders_of_every_form(grader: Any, metrics: dict[str, float]) -> None:
    run = await evaluated("builtin/oracle", grader=grader)
    assert run.metrics == metrics
    assert run.score == next(iter(metrics.values()))


async def test_what_a_grader_says_is_kept() -> None:
    assert next((await evaluated("builtin/oracle", grader=with_explanation)).episodes()).explanation == "half"


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        (lambda answer, expected: None, "is a `return` missing?"),
        (lambda answer, expected: "yes", "returned str; a score is a bool or a number"),
        (lambda answer, expected: 1 / 0, "ZeroDivisionError"),
        (lambda answer, expected: {"points": 1}, "mapping without 'score'"),
        (lambda answer, expected: float("nan"), "nan"),
    ],
)
async def test_a_grader_that_fails_leaves_the_score_missing(grader: Any, words: str) -> None:
    run = await evaluated("builtin/oracle", grader=grader)
    assert (run.score, run.status) == (None, "failed")
    episode = next(run.episodes())
    assert episode.score is None
    assert words in episode.error
    assert sum(run.missing.values()) == 2


async def test_one_grader_that_fails_does_not_take_the_others_with_it() -> None:
    run = await evaluated("builtin/oracle", grader={"good": boolean, "bad": lambda answer, expected: None})
    assert run.metrics == {"good": 1.0}


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        (lambda answer, expected, rwo: 1, "a parameter 'rwo'.*did you mean 'row'"),
        ("numerik", "did you mean 'numeric'"),
        ([boolean, boolean], "two graders are called 'boolean'"),
        (lambda: 1, "takes no answer"),
        (7, "is no grader"),
    ],
)
async def test_what_cannot_be_a_grader_is_refused_before_anything_runs(grader: Any, words: str) -> None:
    with pytest.raises(mc.UsageError, match=words):
        await evaluated("builtin/oracle", grader=grader)
    assert len(mc.runs()) == 0


async def test_a_grader_can_ask_a_judge_and_the_call_is_recorded(server: ModelServer, model: str) -> None:
    async def polite(answer: str, expected: str, judge: Any) -> bool:
        return bool(await judge.ask(f"{answer} + 0?") == str(2 * int(answer)))

    judge = f"openai/other@{server.openai_url}"
    run = await evaluated(model, grader=polite, judge=judge)
    assert (run.score, server.served, run.usage.calls) == (1.0, 4, 4)
    calls = [event.payload for event in next(run.episodes()).events if event.kind.value == "model_call"]
    assert [call.get("role", "") for call in calls] == ["", "judge"]
    assert calls[1]["model"] == "openai/other"


async def test_a_judge_that_cannot_answer_leaves_the_episode_pending() -> None:
    async def polite(answer: str, expected: str, judge: Any) -> bool:
        return bool(await judge.ask("Polite?"))

    async with ModelServer("yes", models=["judge"], key="right") as refusing:
        judge = f"openai/judge@{refusing.openai_url}"
        with pytest.raises(mc.RunAborted):
            await evaluated("builtin/oracle", grader=polite, judge=judge)


async def test_answers_without_a_grader_are_collected() -> None:
    run = await evaluated("builtin/oracle", grader=None)
    assert (run.status, run.score, run.metrics) == ("finished", None, {})
    assert [episode.answer for episode in run.episodes()] == ["0", "2"]


async def test_a_grader_and_an_agent_can_be_named_by_file(place: Any) -> None:
    (place / "mine.py").write_text(
        "def solve(question):\n    return '0'\n\ndef right(answer, expected):\n    return answer == expected\n"
    )
    run = await evaluated(None, agent="mine.py:solve", grader="mine.py:right")
    assert (run.agent, run.metrics) == ("solve", {"right": 0.5})


def test_scores_beyond_0_to_1_are_noted_once_and_have_the_interval_of_a_quantity() -> None:
    rows = [{"q": f"{n}?", "answer": str(n)} for n in range(3)]

    def size(answer: str, expected: str) -> float:
        return float(answer)

    run = mc.evaluate(rows, prompt="{q}", grader=size, model="builtin/oracle")

    (noted,) = [note for note in run.notes if "beyond" in note]
    assert noted.startswith("size goes beyond 0 to 1 (first 2 in 2); ")
    assert run.score is not None
    assert "hall" in run.score.method
