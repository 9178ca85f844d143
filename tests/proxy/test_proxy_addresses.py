"""Who may ask what: tokens, addresses, budgets, secrets, and many programs at once."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import Limits, RunStatus
from mesocosm.models.openai import open_model
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import anthropic
    import openai

OpenAI = Callable[[Any], "openai.OpenAI"]
Anthropic = Callable[[Any], "anthropic.Anthropic"]
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]
TEN = ScriptedAnswer("four", prompt_tokens=7, completion_tokens=3)


def status(url: str, **headers: str) -> tuple[int, Any]:
    """Return status and body of a POST."""
    try:
        with urlopen(Request(url, b"{}", {k.replace("_", "-"): v for k, v in headers.items()}), timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


async def test_a_wrong_token_opens_nothing_in_the_words_of_each_api(lab: Any) -> None:
    def program(variables: Any) -> Any:
        root = variables["ANTHROPIC_BASE_URL"]
        return [
            status(f"{root}/v1/chat/completions", authorization="Bearer sk-mesocosm-wrong"),
            status(f"{root}/v1/chat/completions"),
            status(f"{root}/v1/messages", x_api_key="wrong"),
        ]

    async with ModelServer("ok") as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
        assert server.calls == []
    first, none, other = episode.terminal_info["output"]
    assert first[0] == none[0] == other[0] == 401
    assert first[1]["error"]["code"] == "invalid_api_key"
    assert (other[1]["type"], other[1]["error"]["type"]) == ("error", "authentication_error")


async def test_both_headers_and_paths_without_a_version_are_taken(lab: Any) -> None:
    def program(variables: Any) -> Any:
        root, token = variables["ANTHROPIC_BASE_URL"], variables["ANTHROPIC_API_KEY"]
        return [
            status(f"{root}/chat/completions", authorization=f"bearer {token}")[0],
            status(f"{root}/v1/chat/completions", x_api_key=token)[0],
            status(f"{root}/v1/chat/completions/", authorization="Bearer ", x_api_key=token)[0],
        ]

    (episode,) = await lab.play(program, "builtin/oracle")
    assert episode.terminal_info["output"] == [400, 400, 400]


async def test_what_is_not_offered_is_said(lab: Any) -> None:
    def program(variables: Any) -> Any:
        token = variables["OPENAI_API_KEY"]
        return status(variables["OPENAI_BASE_URL"] + "/images/generations", x_api_key=token)

    (episode,) = await lab.play(program, "builtin/oracle")
    code, body = episode.terminal_info["output"]
    assert code == 404
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/messages", "/v1/models"):
        assert path in body["error"]["message"]


async def test_the_address_of_an_episode_that_is_over_is_closed_and_the_next_is_another(lab: Any) -> None:
    def program(variables: Any) -> Any:
        if variables["TASK"] == "task-0":
            return 0
        old = lab.addresses[0]
        return status(old.url + "/v1/chat/completions", authorization=f"Bearer {old.token}")[0]

    _, episode = await lab.play(program, "builtin/oracle", count=2)
    assert episode.terminal_info["output"] == 401
    first, second = lab.addresses
    assert first.url == second.url
    assert first.token != second.token


async def test_the_variables_lead_every_usual_client_here(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "example.org")
    async with ModelServer("ok") as server:
        await lab.play(lambda variables: 0, f"groq/m@{server.openai_url}")
    (address,) = lab.addresses
    variables = address.variables
    assert (address.provider, address.model) == ("groq", "m")
    for prefix in ("OPENAI", "VLLM", "GROQ"):
        assert variables[f"{prefix}_BASE_URL"] == f"{address.url}/v1"
        assert variables[f"{prefix}_API_KEY"] == address.token
    assert variables["ANTHROPIC_BASE_URL"] == address.url
    assert variables["ANTHROPIC_AUTH_TOKEN"] == variables["ANTHROPIC_API_KEY"] == address.token
    assert variables["BENCHMARK_BASE_URL"] == f"{address.url}/v1"
    assert variables["NO_PROXY"].split(",") == ["example.org", "127.0.0.1", "localhost"]
    assert address.token not in repr(address)


@pytest.mark.parametrize("passing", [True, False])
async def test_a_budget_that_is_used_up_is_said_clearly_and_fails_the_episode(
    lab: Any, openai_client: OpenAI, anthropic_client: Anthropic, passing: bool
) -> None:
    import anthropic
    import openai

    heard: list[Any] = []

    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).chat.completions.create
        for _ in range(5):
            try:
                create(model="m", messages=QUESTION)
            except openai.PermissionDeniedError as error:
                heard.append(error.response.json()["error"])
        try:
            anthropic_client(variables).messages.create(model="m", max_tokens=5, messages=QUESTION)
        except anthropic.PermissionDeniedError as error:
            heard.append(error.response.json()["error"])
        return "made the best of it"

    async with ModelServer(TEN) as server:
        model = f"{'vllm/m' if passing else 'ollama/llama3.2'}@{server.openai_url if passing else server.url}"
        (episode,) = await lab.play(program, model, limits=Limits(episode_tokens=20))
        assert server.served == 2 if passing else 3
    assert heard[0]["type"] == heard[0]["code"] == "budget_exceeded"
    assert "its budget is 20" in heard[0]["message"]
    assert heard[-1]["type"] == "permission_error"
    assert episode.status is EpisodeStatus.FAILED
    assert episode.failure.cause == "token_budget_exceeded"
    assert episode.terminal_info["reason"] == "token_budget_exceeded"


async def test_a_program_that_fails_of_its_budget_failed_of_its_budget(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        for _ in range(5):
            openai_client(variables).chat.completions.create(model="m", messages=QUESTION)

    async with ModelServer(TEN) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", limits=Limits(episode_tokens=20))
    assert episode.failure.cause == "token_budget_exceeded"


async def test_calls_at_once_pass_a_budget_by_little(lab: Any, openai_client: OpenAI) -> None:
    import openai

    async def slowly(body: Any) -> ScriptedAnswer:
        await asyncio.sleep(0.01)
        return TEN

    def program(variables: Any) -> Any:
        client = openai_client(variables)

        def ask(_: int) -> int:
            try:
                client.chat.completions.create(model="m", messages=QUESTION, max_tokens=3)
            except openai.PermissionDeniedError:
                return 0
            return 1

        with ThreadPoolExecutor(16) as pool:
            return sum(pool.map(ask, range(32)))

    async with ModelServer(slowly) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", limits=Limits(episode_tokens=60))
        assert 6 <= server.served <= 7
    assert 60 <= episode.usage.total <= 70


async def test_the_budget_of_the_run_stops_programs_too(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        openai_client(variables).chat.completions.create(model="m", messages=QUESTION)

    async with ModelServer(TEN) as server:
        episodes = await lab.play(program, f"vllm/m@{server.openai_url}", count=5, limits=Limits(run_tokens=20))
        assert server.served == 2
    assert len(episodes) == 2
    assert lab.run.status is RunStatus.STOPPED


async def test_money_that_nobody_can_count_aborts_the_run(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        for _ in range(3):
            openai_client(variables).chat.completions.create(model="m", messages=QUESTION)

    async with ModelServer(TEN) as server:
        opened: Any = open_model(ModelSettings(f"vllm/m@{server.openai_url}"))
        opened._price = None
        await lab.play(program, lab.model(opened), limits=Limits(run_usd=1.0))
        assert server.served == 1
    assert lab.run.status in {RunStatus.STOPPED, RunStatus.FAILED}
    assert "no price is known" in lab.run.error


async def test_secrets_reach_neither_the_program_nor_the_record(
    lab: Any, openai_client: OpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "real-key-0123456789"
    monkeypatch.setenv("MESOCOSM_API_KEY", key)
    fault = Fault(status=400, text=f"Incorrect API key provided: {key}")
    program = """
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen
print(sorted(os.environ.items()))
key = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
try:
    urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", b'{"model":"m","messages":[]}', key))
except HTTPError as error:
    print(error.code, error.read().decode())
"""
    async with ModelServer("ok", faults=[fault]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
        assert server.calls[0].header("authorization") == f"Bearer {key}"
        assert server.calls[0].header("x-api-key") is None
    (address,) = lab.addresses
    stored = repr(lab.events(episode)) + repr(episode) + caplog.text
    assert "Incorrect API key provided: [key]" in stored
    assert key not in stored
    assert address.token not in stored
    assert "OPENAI_BASE_URL" in stored


async def test_another_model_than_the_runs_is_never_asked_and_pointed_out_once(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        for name in ("m", "vllm/m", "other", "other"):
            openai_client(variables).chat.completions.create(model=name, messages=QUESTION)

    async with ModelServer("ok") as server:
        episodes = await lab.play(program, f"vllm/m@{server.openai_url}", count=2)
        assert [call.body["model"] for call in server.calls] == ["m"] * 8
    warnings = [warning for warning in lab.run.warnings if "'other'" in warning]
    assert len(warnings) == len(lab.run.warnings) == 1
    assert len(lab.events(episodes[0], Kind.WARNING)) == 1
    calls = lab.calls(episodes[0])
    assert [call["asked"] for call in calls] == ["m", "vllm/m", "other", "other"]
    assert [call["sent"]["model"] for call in calls] == ["m"] * 4


async def test_fifty_calls_at_once_are_recorded_where_they_belong(lab: Any, openai_client: OpenAI) -> None:
    def answer(body: Any) -> str:
        return f"to {body['messages'][0]['content']}"

    def program(variables: Any) -> Any:
        client, task = openai_client(variables), variables["TASK"]

        def ask(n: int) -> Any:
            said: Any = [{"role": "user", "content": f"{task} {n}"}]
            if n % 2:
                stream: Any = client.chat.completions.create(model="m", messages=said, stream=True)
                return "".join(part.choices[0].delta.content or "" for part in stream)
            return client.chat.completions.create(model="m", messages=said).choices[0].message.content

        with ThreadPoolExecutor(10) as pool:
            return list(pool.map(ask, range(10)))

    async with ModelServer(answer, delay=0.02) as server:
        episodes = await lab.play(program, f"vllm/m@{server.openai_url}", count=5, parallel=5)
    for episode in episodes:
        expected = [f"to {episode.task_id} {n}" for n in range(10)]
        assert episode.terminal_info["output"] == expected
        assert sorted(call["text"] for call in lab.calls(episode)) == expected
        assert episode.usage.calls == 10


async def test_a_long_history_is_recorded_once(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        history: Any = []
        for n in range(6):
            history.append({"role": "user", "content": f"question {n}"})
            answer = openai_client(variables).chat.completions.create(model="m", messages=history)
            history.append({"role": "assistant", "content": answer.choices[0].message.content})

    async with ModelServer("always this") as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert len(lab.said(episode)) == 7
    assert len(lab.calls(episode)) == 6


async def test_a_cached_model_is_asked_through_its_cache(lab: Any, openai_client: OpenAI, tmp_path: Any) -> None:
    def program(variables: Any) -> Any:
        return openai_client(variables).chat.completions.create(model="m", messages=QUESTION).choices[0].message.content

    async with ModelServer("four") as server:
        for _ in range(2):
            (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", cache=str(tmp_path / "cache.sqlite"))
            assert episode.terminal_info["output"] == "four"
        assert server.served == 1
    assert lab.calls(episode)[0]["cached"]


async def test_the_server_stops_with_the_run(lab: Any) -> None:
    await lab.play(lambda variables: 0, "builtin/oracle")
    (address,) = lab.addresses
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(address.url.rpartition(":")[2]))
