"""The run's model and its settings are what is asked, whatever a program says; both stand in the record."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.model import Capabilities, ModelReply
from mesocosm.core.run import Limits
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import anthropic
    import openai

OpenAI = Callable[[Any], "openai.OpenAI"]
Anthropic = Callable[[Any], "anthropic.Anthropic"]
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]
SETTINGS: Any = {"temperature": 0.5, "max_tokens": 99, "top_p": 0.9, "extra": {"seed": 7}}


def chat(variables: Any, client: OpenAI, **more: Any) -> Any:
    return client(variables).chat.completions.create(**{"model": "m", "messages": QUESTION, **more})


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"user","content":"x"}]}',
        b'{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"temperature":1,"max_tokens":5,"seed":1}',
        b'{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"max_completion_tokens":5,"top_p":0.1}',
    ],
)
async def test_a_chat_completion_is_asked_with_the_runs_model_and_settings(lab: Any, post: Any, body: bytes) -> None:
    async with ModelServer("ok", models=["m"]) as server:
        (episode,) = await lab.play(
            lambda variables: post(variables, "/chat/completions", body)[0], f"vllm/m@{server.openai_url}", **SETTINGS
        )
        (sent,) = [call.body for call in server.calls]
    assert episode.terminal_info["output"] == 200
    wanted = {"model": "m", "temperature": 0.5, "max_tokens": 99, "top_p": 0.9, "seed": 7}
    assert {name: sent[name] for name in sent if name != "messages"} == wanted
    (call,) = lab.calls(episode)
    assert call["sent"] == wanted
    assert call["asked"] == ("gpt-4o" if b"gpt-4o" in body else "")


async def test_what_the_run_leaves_open_stays_as_the_program_has_it(lab: Any, openai_client: OpenAI) -> None:
    async with ModelServer("ok", models=["m"]) as server:
        await lab.play(
            lambda variables: chat(variables, openai_client, top_p=0.3, seed=5, stop=["."]).model_dump(),
            f"vllm/m@{server.openai_url}",
        )
        (sent,) = [call.body for call in server.calls]
    assert (sent["top_p"], sent["seed"], sent["stop"]) == (0.3, 5, ["."])


async def test_a_response_is_asked_with_the_runs_model_and_settings(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).responses.create
        return create(model="gpt-4o", input="hi", max_output_tokens=5, reasoning={"summary": "auto"}).output_text

    async with ModelServer("ok", models=["m"]) as server:
        settings: Any = {"temperature": 0.5, "max_tokens": 99, "extra": {"reasoning_effort": "low"}}
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", **settings)
        (sent,) = [call.body for call in server.calls]
    assert episode.terminal_info["output"] == "ok"
    assert (sent["model"], sent["temperature"], sent["max_output_tokens"]) == ("m", 0.5, 99)
    assert sent["reasoning"] == {"summary": "auto", "effort": "low"}


async def test_settings_that_responses_do_not_have_go_through_chat_completions(lab: Any, openai_client: OpenAI) -> None:
    async with ModelServer("ok", models=["m"]) as server:
        (episode,) = await lab.play(
            lambda variables: openai_client(variables).responses.create(model="m", input="hi").output_text,
            f"vllm/m@{server.openai_url}",
            extra={"seed": 7},
        )
        (call,) = server.calls
    assert episode.terminal_info["output"] == "ok"
    assert (call.path, call.body["seed"]) == ("/v1/chat/completions", 7)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_server_without_responses_gets_chat_completions(
    lab: Any, openai_client: OpenAI, streamed: bool
) -> None:
    def program(variables: Any) -> Any:
        client: Any = openai_client(variables)
        if not streamed:
            return [client.responses.create(model="x", input="hi").output_text for _ in range(2)]
        with client.responses.stream(model="x", input="hi") as stream:
            kinds = [event.type for event in stream]
            return [kinds[0], kinds[-1], stream.get_final_response().output_text]

    async with ModelServer("ok", models=["m"], absent=["/v1/responses"]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
        paths = [call.path for call in server.calls]
    chats = ["/v1/chat/completions"]
    assert paths == ["/v1/responses", *(chats if streamed else chats * 2)]
    wanted = ["response.created", "response.completed", "ok"] if streamed else ["ok", "ok"]
    assert episode.terminal_info["output"] == wanted


@pytest.mark.parametrize("absent", [(), ("/v1/completions",)])
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_older_completion_is_asked_with_the_runs_model_and_settings(
    lab: Any, openai_client: OpenAI, streamed: bool, absent: tuple[str, ...]
) -> None:
    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).completions.create
        told: Any = {"model": "davinci-002", "prompt": "2+2=", "temperature": 1, "max_tokens": 5}
        if streamed:
            return "".join(chunk.choices[0].text for chunk in create(**told, stream=True) if chunk.choices)
        return create(**told).choices[0].text

    async with ModelServer("the answer is 4", models=["m"], absent=absent) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", **SETTINGS)
        sent = server.calls[-1]
    assert episode.terminal_info["output"] == "the answer is 4"
    assert sent.path == ("/v1/chat/completions" if absent else "/v1/completions")
    wanted = {"model": "m", "temperature": 0.5, "max_tokens": 99, "top_p": 0.9, "seed": 7}
    assert {name: sent.body.get(name) for name in wanted} == wanted
    (call,) = lab.calls(episode)
    assert (call["asked"], call["model"], call["text"]) == ("davinci-002", "vllm/m", "the answer is 4")
    assert episode.usage.calls == 1
    assert episode.usage.total > 0


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_that_the_provider_broke_off_is_no_result(
    lab: Any, openai_client: OpenAI, streamed: bool
) -> None:
    def program(variables: Any) -> Any:
        found = chat(variables, openai_client, stream=streamed)
        return len(list(found)) if streamed else found.choices[0].finish_reason

    async with ModelServer(ScriptedAnswer("hal", finish_reason="error"), models=["m"]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.failure is not None
    assert episode.failure.cause == Cause.MODEL_INVALID
    assert episode.status is EpisodeStatus.CANCELLED


@pytest.mark.parametrize("told", [{"prompt": ["a", "b"]}, {"prompt": [1, 2]}, {"prompt": "a", "echo": True}])
async def test_an_older_completion_that_no_message_can_say_is_refused_where_the_server_has_none(
    lab: Any, openai_client: OpenAI, told: Any
) -> None:
    import openai

    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).completions.create
        with pytest.raises(openai.BadRequestError, match="cannot be given"):
            create(model="m", **told)
        return "refused"

    (episode,) = await lab.play(program, "builtin/empty")
    assert episode.terminal_info["output"] == "refused"


async def test_embeddings_are_asked_of_the_runs_model(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        return len(openai_client(variables).embeddings.create(model="text-embedding-3-small", input="x").data)

    async with ModelServer("ok", models=["m"]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
        (sent,) = [call.body for call in server.calls]
    assert episode.terminal_info["output"] == 1
    assert (sent["model"], "temperature" in sent) == ("m", False)


async def test_a_message_is_asked_with_the_runs_model_and_settings(lab: Any, anthropic_client: Anthropic) -> None:
    def program(variables: Any) -> Any:
        return anthropic_client(variables).messages.create(model="opus", max_tokens=5, messages=QUESTION).model

    async with ModelServer("ok", models=["claude"]) as server:
        (episode,) = await lab.play(program, f"anthropic/claude@{server.url}", **{**SETTINGS, "extra": {"stop": "."}})
        (sent,) = [call.body for call in server.calls]
    assert episode.terminal_info["output"] == "claude"
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("claude", 0.5, 99)
    assert (sent["top_p"], sent["stop_sequences"]) == (0.9, ["."])


async def test_a_message_reaches_a_server_that_has_chat_completions_alone(
    lab: Any, anthropic_client: Anthropic
) -> None:
    def program(variables: Any) -> Any:
        return anthropic_client(variables).messages.create(model="opus", max_tokens=5, messages=QUESTION).content[0]

    async with ModelServer("ok", models=["m"], absent=["/v1/messages"]) as server:
        await lab.play(program, f"vllm/m@{server.openai_url}", **SETTINGS)
        (call,) = server.calls
    assert (call.path, call.body["model"], call.body["max_tokens"]) == ("/v1/chat/completions", "m", 99)


async def test_a_setting_that_the_server_does_not_take_is_left_out_from_then_on(
    lab: Any, openai_client: OpenAI
) -> None:
    fault = Fault(status=400, text="Unsupported value: 'temperature' does not support 0.5", param="temperature")

    def program(variables: Any) -> Any:
        return [chat(variables, openai_client).choices[0].message.content for _ in range(2)]

    async with ModelServer("ok", models=["m"], faults=[fault]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", **SETTINGS)
        temperatures = ["temperature" in call.body for call in server.calls]
    assert episode.terminal_info["output"] == ["ok", "ok"]
    assert temperatures == [True, False, False]
    assert ["temperature" in call["sent"] for call in lab.calls(episode)] == [False, False]


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/chat/completions", "//chat/completions/"])
async def test_an_address_is_understood_however_its_version_is_written(lab: Any, post: Any, path: str) -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'

    def program(variables: Any) -> Any:
        root = variables["OPENAI_BASE_URL"].removesuffix("/v1")
        bare = {**variables, "OPENAI_BASE_URL": root}
        return [post(variables, path, body)[0], post(bare, path, body)[0]]

    async with ModelServer("ok", models=["m"]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == [200, 200]


async def test_a_placeholder_for_the_runs_model_is_no_other_model(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        for name in ("any", "osmosis-rollout", "openai/osmosis-rollout"):
            chat(variables, openai_client, model=name)

    async with ModelServer("ok", models=["m"]) as server:
        await lab.play(program, f"vllm/m@{server.openai_url}")
    assert lab.run.warnings == ()


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=400, text="the request is odd"), Cause.MODEL_REJECTED),
        (Fault(status=500, text="trouble"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=429, text="slow"), Cause.RATE_LIMITED),
    ],
)
async def test_a_program_whose_last_call_was_not_answered_has_no_result(
    lab: Any, post: Any, fault: Fault, cause: Cause
) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}]}'
    async with ModelServer("ok", models=["m"], faults=[None, fault, fault]) as server:
        (episode,) = await lab.play(
            lambda variables: [post(variables, "/chat/completions", body)[0] for _ in range(2)],
            f"vllm/m@{server.openai_url}",
            limits=Limits(retries=0),
        )
    assert episode.failure is not None
    assert episode.failure.cause is cause
    assert [score.missing for score in episode.scores] == [cause]


async def test_a_failure_that_a_later_call_made_good_is_none(lab: Any, post: Any) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}]}'
    async with ModelServer("ok", models=["m"], faults=[Fault(status=400, text="no such format")]) as server:
        (episode,) = await lab.play(
            lambda variables: [post(variables, "/chat/completions", body)[0] for _ in range(2)],
            f"vllm/m@{server.openai_url}",
        )
    assert episode.failure is None
    assert episode.terminal_info["output"] == [400, 200]


async def test_a_context_that_overflows_is_the_programs_own(lab: Any, post: Any) -> None:
    fault = Fault(status=400, text="maximum context length is 2048 tokens", code="context_length_exceeded")
    async with ModelServer("ok", models=["m"], faults=[fault]) as server:
        (episode,) = await lab.play(
            lambda variables: post(variables, "/chat/completions", b'{"messages":[]}')[0],
            f"vllm/m@{server.openai_url}",
        )
    assert episode.failure is None
    assert lab.failures(episode)[0]["cause"] == "context_overflow"


async def test_an_answer_to_one_call_does_not_make_good_the_failure_of_another(lab: Any, post: Any) -> None:
    first, second = threading.Event(), threading.Event()

    async def answer(body: Any) -> str:
        if body["messages"][0]["content"] == "slow":
            first.set()
            await asyncio.to_thread(second.wait, 60)
        return "ok"

    def program(variables: Any) -> Any:
        body = '{"messages":[{"role":"user","content":"%s"}]}'
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(post, variables, "/chat/completions", (body % "slow").encode())
            first.wait(60)
            failed = post(variables, "/chat/completions", (body % "fast").encode())[0]
            second.set()
            return [slow.result()[0], failed]

    async with ModelServer(answer, models=["m"], faults=[None, Fault(status=500)]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", limits=Limits(retries=0))
    assert episode.terminal_info["output"] == [200, 500]
    assert episode.failure.cause is Cause.MODEL_UNAVAILABLE


async def test_a_run_names_the_server_that_answered_it(lab: Any, openai_client: OpenAI) -> None:
    async with ModelServer("ok", models=["m"]) as server:
        name = server.openai_url.replace("http://", "http://user:secret@")
        await lab.play(lambda variables: chat(variables, openai_client).model, f"vllm/m@{name}")
        named = lab.run.provenance["server"]
    assert (named["address"], named["served"], len(named["models"])) == (server.openai_url, "m", 32)
    assert lab.store.runs.get(lab.run.id).provenance["server"] == named


async def test_a_served_name_that_changes_within_a_run_is_pointed_out(lab: Any) -> None:
    import openai

    names = iter(["m-2026-01-01", "m-2026-02-02", "m-2026-02-02"])

    def answer(reply: Any) -> ModelReply:
        return ModelReply("ok", served=next(names))

    def program(variables: Any) -> Any:
        for _ in range(3):
            openai.OpenAI(
                base_url=variables["OPENAI_BASE_URL"], api_key=variables["OPENAI_API_KEY"], max_retries=0
            ).chat.completions.create(model="m", messages=QUESTION)

    await lab.play(program, lab.model(Naming(answer)))
    assert lab.run.provenance["server"] == {"served": "m-2026-01-01, m-2026-02-02"}
    assert lab.run.warnings == ("the server answers as 'm-2026-02-02', and did as 'm-2026-01-01' before",)


class Naming:
    """A model whose replies name what served them."""

    capabilities = Capabilities()

    def __init__(self, answer: Callable[[Any], ModelReply]) -> None:
        self._answer = answer

    async def check(self) -> None:
        return None

    async def ask(self, request: Any) -> ModelReply:
        return self._answer(request)

    async def close(self) -> None:
        return None
