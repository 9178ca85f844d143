"""Programs that ask how probable texts are: the server's answer is passed on whole, and its sums are recorded."""

import json
from typing import Any

import pytest

from mesocosm.core.failure import Incompatible
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Parts
from mesocosm.engine.opening import require_logprobs
from mesocosm.models.cache import CachedModel
from mesocosm.models.openai import open_model
from mesocosm.proxy.completions import read_logprobs
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer
from mesocosm.testing.probabilities import token_logprob

PROMPT = "one two three"
SCORING: dict[str, Any] = {"prompt": PROMPT, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


async def ask(lab: Any, post: Any, server: ModelServer, path: str = "/completions", **fields: Any) -> tuple[Any, Any]:
    """Return what a program got for a request, and what the trace says of it."""

    def program(variables: Any) -> Any:
        status, text = post(variables, path, body(**fields))
        return [status, json.loads(text)]

    (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", max_tokens=99, temperature=0.5)
    (call,) = lab.calls(episode)
    status, answer = episode.terminal_info["output"]
    assert status == 200
    return answer, call


async def test_what_is_said_of_a_prompt_is_passed_on_whole(lab: Any, post: Any) -> None:
    async with ModelServer(" four") as server:
        answer, _ = await ask(lab, post, server, **SCORING)
    found = answer["choices"][0]["logprobs"]
    assert found["tokens"] == ["one", " two", " three", " four"]
    assert found["token_logprobs"][1:3] == [token_logprob("one", " two")[0], token_logprob("one two", " three")[0]]


async def test_the_settings_of_a_reply_do_not_reach_a_request_that_only_asks_about_its_prompt(
    lab: Any, post: Any
) -> None:
    async with ModelServer(" four") as server:
        await ask(lab, post, server, **SCORING)
        (sent,) = [call.body for call in server.calls]
    assert sent == {**SCORING, "model": "m"}


@pytest.mark.parametrize("changed", [{"max_tokens": 20}, {"logprobs": None}, {"echo": False}])
async def test_any_other_request_gets_the_settings_of_the_run(lab: Any, post: Any, changed: Any) -> None:
    async with ModelServer(" four") as server:
        await ask(lab, post, server, **{**SCORING, **changed})
        (sent,) = [call.body for call in server.calls]
    assert (sent["max_tokens"], sent["temperature"]) == (99, 0.5)


async def test_the_trace_has_sums_of_prompt_and_reply_and_the_prompt_once(lab: Any, post: Any) -> None:
    async with ModelServer(" four") as server:
        _, call = await ask(lab, post, server, **SCORING)
    read = token_logprob("one", " two")[0] + token_logprob("one two", " three")[0]
    said = token_logprob(PROMPT, " four")[0]
    assert call["text"] == " four"
    assert call["logprobs"] == {"tokens": 1, "total": said, "read": 2, "read_total": pytest.approx(read)}


async def test_probabilities_of_a_chat_are_passed_on_and_summed(lab: Any, post: Any) -> None:
    content = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.25}]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ab"}}
    said = json.dumps({"model": "m", "choices": [{**choice, "logprobs": {"content": content}}]}).encode()
    async with ModelServer(faults=[Fault(status=200, raw=said)]) as server:
        messages = [{"role": "user", "content": "x"}]
        answer, call = await ask(
            lab, post, server, "/chat/completions", messages=messages, logprobs=True, top_logprobs=1
        )
    assert answer["choices"][0]["logprobs"]["content"] == content
    assert call["logprobs"] == {"tokens": 2, "total": -0.75}


async def test_a_call_without_probabilities_has_no_sums(lab: Any, post: Any) -> None:
    async with ModelServer("4") as server:
        _, call = await ask(lab, post, server, "/chat/completions", messages=[{"role": "user", "content": "x"}])
    assert "logprobs" not in call


@pytest.mark.parametrize("data", [None, {}, {"token_logprobs": []}, {"content": []}, {"token_logprobs": "x"}, "x"])
def test_what_holds_no_probabilities_is_none(data: Any) -> None:
    assert read_logprobs(data) is None


def test_values_that_are_no_numbers_do_not_count() -> None:
    found = read_logprobs({"token_logprobs": [None, -1.0, "x", float("nan"), -2.0]}, 1)
    assert found is not None
    assert (found.read, found.read_total, found.tokens, found.total) == (1, -1.0, 1, -2.0)


@pytest.mark.parametrize(
    ("path", "fields", "named"),
    [
        ("/completions", {"prompt": "x", "logprobs": 0}, "logprobs"),
        ("/completions", {"prompt": "x", "prompt_logprobs": 0}, "prompt_logprobs"),
        ("/completions", {"prompt": "x", "echo": True, "logprobs": 1}, "echo, logprobs"),
        ("/chat/completions", {"messages": [{"role": "user", "content": "x"}], "top_logprobs": 3}, "top_logprobs"),
    ],
)
async def test_a_model_without_such_a_server_refuses_and_drops_nothing_silently(
    lab: Any, post: Any, path: str, fields: Any, named: str
) -> None:
    (episode,) = await lab.play(lambda variables: post(variables, path, body(**fields)), "builtin/oracle")
    status, text = episode.terminal_info["output"]
    assert status == 400
    assert f"cannot be given {named}" in text


async def test_a_server_is_asked_once_whether_it_can_tell() -> None:
    async with ModelServer() as server:
        model: Any = open_model(ModelSettings(f"vllm/m@{server.openai_url}"))
        found = [await model.reads_logprobs(), await model.reads_logprobs()]
        await model.close()
        assert (found, model.capabilities.logprobs, len(server.calls)) == ([True, True], True, 1)


@pytest.mark.parametrize("given", [{"echoes": False}, {"absent": ("/v1/completions",)}])
async def test_a_server_that_ignores_or_lacks_it_cannot_tell(given: Any) -> None:
    async with ModelServer(**given) as server:
        model: Any = open_model(ModelSettings(f"vllm/m@{server.openai_url}"))
        assert not await model.reads_logprobs()
        await model.close()
        assert not model.capabilities.logprobs


class _Info:
    def __init__(self, remedy: str) -> None:
        self.id, self.logprobs = "choices", remedy


class _Benchmark:
    def __init__(self, remedy: str) -> None:
        self.info = _Info(remedy)


async def _required(model: Any, remedy: str = "ask in another way") -> None:
    parts: Any = Parts(_Benchmark(remedy), model, None)  # type: ignore[arg-type]
    try:
        await require_logprobs(parts)
    finally:
        await model.close()


async def test_a_benchmark_that_needs_them_is_incompatible_with_a_server_that_has_none() -> None:
    async with ModelServer(echoes=False) as server:
        model = open_model(ModelSettings(f"vllm/m@{server.openai_url}"))
        with pytest.raises(Incompatible, match=r"does not tell how probable a given text is .*; ask in another way"):
            await _required(model)


async def test_a_benchmark_that_needs_none_asks_nothing() -> None:
    async with ModelServer(echoes=False) as server:
        await _required(open_model(ModelSettings(f"vllm/m@{server.openai_url}")), "")
        assert not server.calls


async def test_a_server_that_is_away_is_no_reason() -> None:
    async with ModelServer(faults=[Fault(status=503)] * 9) as server:
        await _required(open_model(ModelSettings(f"vllm/m@{server.openai_url}")))


async def test_behind_the_response_cache_no_model_can_tell(tmp_path: Any) -> None:
    settings = ModelSettings("vllm/m@http://127.0.0.1:9/v1", cache=str(tmp_path / "cache.db"))
    model = CachedModel(open_model(settings), settings)
    with pytest.raises(Incompatible):
        await _required(model)
