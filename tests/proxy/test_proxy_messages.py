"""Anthropic messages of the official client, passed on and asked through the engine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.message import Image, Text, ToolCall
from mesocosm.core.model import ModelReply
from mesocosm.core.usage import Usage
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import anthropic

Client = Callable[[Any], "anthropic.Anthropic"]
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]
TOOL: Any = {"name": "add", "description": "adds", "input_schema": {"type": "object", "properties": {}}}


async def test_a_message_is_passed_on_and_recorded(
    lab: Any, anthropic_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-real-key-of-ours")

    def program(variables: Any) -> Any:
        client = anthropic_client(variables)
        answer = client.messages.create(model="claude", max_tokens=9, system="be brief", messages=QUESTION)
        return answer.content[0].model_dump()["text"]

    async with ModelServer(ScriptedAnswer("four", prompt_tokens=11, completion_tokens=3)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        (episode,) = await lab.play(program, "anthropic/claude")
        (call,) = server.calls
    assert episode.terminal_info["output"] == "four"
    assert (call.path, call.header("x-api-key")) == ("/v1/messages", "the-real-key-of-ours")
    assert call.header("anthropic-version")
    (recorded,) = lab.calls(episode)
    assert (recorded["path"], recorded["text"], recorded["request"]["max_tokens"]) == ("/messages", "four", 9)
    assert lab.said(episode) == [("system", "be brief"), ("user", "what is 2+2?")]
    assert (episode.usage.prompt, episode.usage.completion) == (11, 3)


async def test_a_streamed_message_is_passed_on_and_recorded(lab: Any, anthropic_client: Client) -> None:
    def program(variables: Any) -> Any:
        with anthropic_client(variables).messages.stream(model="claude", max_tokens=9, messages=QUESTION) as stream:
            pieces = list(stream.text_stream)
            return [pieces, stream.get_final_message().usage.output_tokens]

    async with ModelServer(ScriptedAnswer("four and more", prompt_tokens=11, completion_tokens=3)) as server:
        (episode,) = await lab.play(program, f"anthropic/claude@{server.url}")
    assert episode.terminal_info["output"] == [["four", " and", " more"], 3]
    (call,) = lab.calls(episode)
    assert (call["text"], call["finish_reason"], call["streamed"]) == ("four and more", "stop", True)
    assert (episode.usage.prompt, episode.usage.completion) == (11, 3)


async def test_tool_use_comes_through_every_way(lab: Any, anthropic_client: Client, said: Any) -> None:
    def program(variables: Any) -> Any:
        messages = anthropic_client(variables).messages
        asked: Any = {"model": "claude", "max_tokens": 9, "messages": QUESTION, "tools": [TOOL]}
        whole: Any = messages.create(**asked)
        with messages.stream(**asked) as stream:
            final: Any = stream.get_final_message()
        return [[m.content[0].name, m.content[0].input, m.stop_reason] for m in (whole, final)]

    answer = ScriptedAnswer("", tool_calls=(("add", {"a": 2}),), finish_reason="tool_calls")
    async with ModelServer(answer) as server:
        (passed,) = await lab.play(program, f"anthropic/claude@{server.url}")
        (translated,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    model = said(ModelReply("", tool_calls=(ToolCall("t", "add", {"a": 2}),)))
    (asked,) = await lab.play(program, lab.model(model))
    for episode in (passed, translated, asked):
        assert episode.terminal_info["output"] == [["add", {"a": 2}, "tool_use"]] * 2
        for call in lab.calls(episode):
            assert [(c["name"], c["arguments"]) for c in call["tool_calls"]] == [("add", {"a": 2})]


async def test_all_that_a_model_of_ours_can_take_reaches_it(lab: Any, anthropic_client: Client, said: Any) -> None:
    model = said(ModelReply("seen", reasoning="thought", usage=Usage(10, 2, 4, 0, 0.5, 1), finish_reason="length"))
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result: Any = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "4"}]}
    history: Any = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "let me add"},
            {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 2}},
        ]},
        {"role": "user", "content": [result, {"type": "text", "text": "so?"}]},
    ]  # fmt: skip

    def program(variables: Any) -> Any:
        create: Any = anthropic_client(variables).messages.create
        return create(
            model="claude", max_tokens=33, extra_body={"temperature": 0.25}, tools=[TOOL],
            system=[{"type": "text", "text": "brief"}], tool_choice={"type": "any"},
            stop_sequences=["."], messages=history,
        ).model_dump()  # fmt: skip

    (episode,) = await lab.play(program, lab.model(model), temperature=0.75, max_tokens=99)
    request = model.requests[0]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool", "user"]
    assert request.messages[1].content == (Text("look"), Image("image/png", "AAAA"))
    spoken = request.messages[2]
    assert (spoken.content, spoken.reasoning, spoken.tool_calls) == (
        "let me add",
        "hm",
        (ToolCall("t", "add", {"a": 2}),),
    )
    assert (request.messages[3].text, request.messages[3].tool_call_id) == ("4", "t")
    assert (request.temperature, request.max_tokens) == (0.75, 99)
    assert request.extra == {"stop": ["."], "tool_choice": "required"}
    answer = episode.terminal_info["output"]
    assert [block["type"] for block in answer["content"]] == ["thinking", "text"]
    assert answer["stop_reason"] == "max_tokens"
    assert (answer["usage"]["input_tokens"], answer["usage"]["cache_read_input_tokens"]) == (6, 4)


async def test_a_streamed_translation_reads_as_one_of_anthropics(lab: Any, anthropic_client: Client, said: Any) -> None:
    def program(variables: Any) -> Any:
        with anthropic_client(variables).messages.stream(model="claude", max_tokens=9, messages=QUESTION) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_message()
        return [kinds[0], kinds[-1], final.content[0].model_dump()["text"], final.usage.output_tokens]

    (episode,) = await lab.play(program, lab.model(said("four")))
    assert episode.terminal_info["output"] == ["message_start", "message_stop", "four", 3]


async def test_tokens_are_counted_by_anthropic_alone(lab: Any, anthropic_client: Client) -> None:
    import anthropic

    def program(variables: Any) -> Any:
        try:
            return anthropic_client(variables).messages.count_tokens(model="claude", messages=QUESTION).input_tokens
        except anthropic.NotFoundError as error:
            return error.message

    (episode,) = await lab.play(program, "builtin/oracle")
    assert "offered are" in episode.terminal_info["output"]


async def test_what_goes_through_the_providers_cache_counts_as_prompt() -> None:
    from mesocosm.proxy.messages import read_usage

    told = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 7}
    assert read_usage(told) == Usage(123, 7, 100, 0, None, 1)


async def test_documents_and_foreign_tools_are_refused_by_name(lab: Any, anthropic_client: Client) -> None:
    import anthropic

    document: Any = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    search: Any = {"type": "web_search_20250305", "name": "web_search"}

    def program(variables: Any) -> Any:
        create: Any = anthropic_client(variables).messages.create
        found = []
        for more in ({"messages": [{"role": "user", "content": [document]}]}, {"tools": [search]}):
            with pytest.raises(anthropic.BadRequestError) as error:
                create(**{"model": "claude", "max_tokens": 9, "messages": QUESTION, **more})
            found.append(error.value.message)
        return found

    (episode,) = await lab.play(program, "builtin/oracle")
    first, second = episode.terminal_info["output"]
    assert "content of type document" in first
    assert "tools of Anthropic's own" in second


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_a_program_writes_to_the_cache_has_its_own_price(
    lab: Any, anthropic_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, streamed: bool
) -> None:
    def program(variables: Any) -> Any:
        messages = anthropic_client(variables).messages
        if not streamed:
            return messages.create(model="claude", max_tokens=9, messages=QUESTION).stop_reason
        with messages.stream(model="claude", max_tokens=9, messages=QUESTION) as stream:
            return stream.get_final_message().stop_reason

    price = {"input": 3, "output": 15, "cached": 0.3, "written": 4, "written_hour": 6, "as_of": "2026-11-28"}
    (tmp_path / "prices.json").write_text(json.dumps({"anthropic/claude": price}))
    monkeypatch.setenv("MESOCOSM_PRICES", str(tmp_path / "prices.json"))
    answer = ScriptedAnswer("four", prompt_tokens=1000, completion_tokens=10, cached_tokens=200, written_tokens=300)
    async with ModelServer(answer) as server:
        (episode,) = await lab.play(program, f"anthropic/claude@{server.url}")
    assert (episode.usage.prompt, episode.usage.cached) == (1000, 200)
    assert episode.usage.cost_usd == pytest.approx((500 * 3 + 200 * 0.3 + 300 * 4 + 10 * 15) / 1e6)


@pytest.mark.parametrize("streamed", [False, True])
async def test_signed_thoughts_of_a_model_of_ours_come_back_to_it_unchanged(
    lab: Any, anthropic_client: Client, said: Any, streamed: bool
) -> None:
    blocks = (
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
        {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 2}},
    )
    calls = (ToolCall("t", "add", {"a": 2}),)
    model = said(ModelReply("", "hm", calls, "tool_calls", blocks=blocks))

    def program(variables: Any) -> Any:
        messages: Any = anthropic_client(variables).messages
        asked: Any = {"model": "claude", "max_tokens": 9, "tools": [TOOL]}
        if streamed:
            with messages.stream(**asked, messages=QUESTION) as stream:
                first = stream.get_final_message()
        else:
            first = messages.create(**asked, messages=QUESTION)
        kept = [block.model_dump(exclude_none=True) for block in first.content]
        result = {"type": "tool_result", "tool_use_id": "t", "content": "4", "is_error": True}
        history = [*QUESTION, {"role": "assistant", "content": kept}, {"role": "user", "content": [result]}]
        messages.create(**asked, messages=history)
        return "done"

    (episode,) = await lab.play(program, lab.model(model))
    assert episode.terminal_info["output"] == "done"
    _, spoken, result = model.requests[1].messages
    assert spoken.blocks == blocks
    assert (result.text, result.failed) == ("4", True)
