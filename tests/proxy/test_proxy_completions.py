"""Chat completions of the official client, passed on and asked through the engine."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.message import Image, Text, ToolCall
from mesocosm.core.model import ModelReply
from mesocosm.core.usage import Usage
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import openai

Client = Callable[[Any], "openai.OpenAI"]
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]


async def test_a_call_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        answer = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, temperature=0.7)
        return answer.choices[0].message.content

    async with ModelServer(ScriptedAnswer("four", prompt_tokens=11, completion_tokens=3)) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == "four"
    (call,) = lab.calls(episode)
    assert call["text"] == "four"
    assert call["path"] == "/chat/completions"
    assert call["request"]["temperature"] == 0.7
    assert call["messages"] == [[0, 0]]
    assert lab.said(episode) == [("user", "what is 2+2?")]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.calls) == (11, 3, 1)
    assert episode.usage.cost_usd == 0.0


async def test_a_call_of_a_program_costs_what_the_proxy_of_litellm_states(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        return openai_client(variables).chat.completions.create(model="m", messages=QUESTION).choices[0].message.content

    said = b'{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,'
    said += b'"finish_reason": "stop", "message": {"role": "assistant", "content": "4"}}],'
    said += b'"usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}'
    fault = Fault(status=200, raw=said, header=("x-litellm-response-cost", "2.25e-4"))
    async with ModelServer(faults=[fault]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert (episode.terminal_info["output"], episode.usage.cost_usd) == ("4", 0.000225)


async def test_a_builtin_model_answers_in_the_words_of_the_api(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        answer = openai_client(variables).chat.completions.create(model="oracle", messages=QUESTION)
        return answer.model_dump()

    (episode,) = await lab.play(program, "builtin/oracle")
    answer = episode.terminal_info["output"]
    assert "best" in answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    (call,) = lab.calls(episode)
    assert call["path"] == "/chat/completions"
    assert "best" in call["text"]


async def test_a_process_finds_its_model_by_its_variables_alone(lab: Any) -> None:
    program = """
import openai
client = openai.OpenAI()
answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
print(answer.choices[0].message.content)
"""
    async with ModelServer("hello") as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == "hello\n"
    assert [call["text"] for call in lab.calls(episode)] == ["hello"]


async def test_a_stream_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        stream = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
        return [chunk.model_dump() for chunk in stream]

    async with ModelServer(ScriptedAnswer("four and more", prompt_tokens=11, completion_tokens=3)) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    chunks = episode.terminal_info["output"]
    assert "".join(c["choices"][0]["delta"]["content"] or "" for c in chunks) == "four and more"
    assert all(chunk["choices"] for chunk in chunks)
    (call,) = lab.calls(episode)
    assert call["text"] == "four and more"
    assert call["streamed"]
    assert (episode.usage.prompt, episode.usage.completion) == (11, 3)


TOOL: Any = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CALLING = ScriptedAnswer("", tool_calls=(("add", {"a": 2, "b": 2}),), finish_reason="tool_calls")


async def test_what_the_run_does_not_set_goes_to_the_server_as_the_program_wrote_it(lab: Any, post: Any) -> None:
    body = b'{ "messages":[{"role":"user","content":"h\\u00e9"}],\n "odd":{"x":[ 1.0 ]} }'

    async with ModelServer("ok") as server:
        (episode,) = await lab.play(
            lambda variables: post(variables, "/chat/completions", body)[0], f"vllm/m@{server.openai_url}"
        )
        (call,) = server.calls
    assert episode.terminal_info["output"] == 200
    fields = b'"messages":[{"role":"user","content":"h\\u00e9"}],"odd":{"x":[ 1.0 ]}'
    assert call.raw == b"{" + fields + b',"temperature":0.0,"max_tokens":512,"model":"m"}'


async def test_a_streams_count_is_asked_for_and_all_else_stays(lab: Any, post: Any) -> None:
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"h\\u00e9"}],"temperature":0.0}'

    async with ModelServer("ok") as server:
        (episode,) = await lab.play(
            lambda variables: post(variables, "/chat/completions", body)[1], f"vllm/m@{server.openai_url}"
        )
        (call,) = server.calls
    options = {"stream_options": {"include_usage": True}, "max_tokens": 512}
    assert call.body == json.loads(body) | options
    assert '"usage"' not in episode.terminal_info["output"]
    assert episode.usage.total > 0


async def test_a_program_that_asks_for_the_count_gets_it(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        options: Any = {"include_usage": True}
        stream = openai_client(variables).chat.completions.create(
            model="m", messages=QUESTION, stream=True, stream_options=options
        )
        return [chunk.usage.total_tokens for chunk in stream if chunk.usage]

    async with ModelServer(ScriptedAnswer("four", prompt_tokens=11, completion_tokens=3)) as server:
        for model in (f"vllm/m@{server.openai_url}", "builtin/oracle"):
            (episode,) = await lab.play(program, model)
            assert len(episode.terminal_info["output"]) == 1


async def test_tool_calls_come_through_streamed_or_not(lab: Any, said: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).chat.completions.create
        whole = create(model="m", messages=QUESTION, tools=[TOOL]).choices[0].message.tool_calls[0].function
        pieces = [
            chunk.choices[0].delta.tool_calls[0].function.arguments
            for chunk in create(model="m", messages=QUESTION, tools=[TOOL], stream=True)
            if chunk.choices[0].delta.tool_calls
        ]
        return [whole.name, whole.arguments, "".join(pieces)]

    async with ModelServer(CALLING) as server:
        (passed,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    (asked,) = await lab.play(
        program, lab.model(said(ModelReply("", tool_calls=(ToolCall("c", "add", {"a": 2, "b": 2}),))))
    )
    for episode in (passed, asked):
        assert episode.terminal_info["output"] == ["add", '{"a":2,"b":2}', '{"a":2,"b":2}']
        for call in lab.calls(episode):
            assert [(c["name"], c["arguments"]) for c in call["tool_calls"]] == [("add", {"a": 2, "b": 2})]
            assert call["finish_reason"] == "tool_calls" or episode is asked


async def test_all_that_a_model_of_ours_can_take_reaches_it(lab: Any, said: Any, openai_client: Client) -> None:
    model = said(ModelReply('{"x": 1}', reasoning="thought", usage=Usage(5, 2, 1, 1, 0.5, 1)))
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    history: Any = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "4"},
    ]
    format_: Any = {"type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}}}

    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).chat.completions.create
        return create(
            model="m", messages=history, tools=[TOOL], temperature=0.25, max_completion_tokens=77, top_p=0.5, seed=3,
            stop=["."], response_format=format_,
        ).model_dump()  # fmt: skip

    (episode,) = await lab.play(program, lab.model(model), temperature=0.75, max_tokens=99)
    request = model.requests[0]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.messages[1].content == (Text("look"), Image("image/png", "AAAA"))
    assert request.messages[2].tool_calls == (ToolCall("c", "add", {}),)
    assert (request.temperature, request.max_tokens, request.top_p) == (0.75, 99, 0.5)
    assert (request.schema, request.schema_name) == ({"type": "object"}, "out")
    assert [tool.name for tool in request.tools] == ["add"]
    assert request.extra == {"seed": 3, "stop": ["."]}
    answer = episode.terminal_info["output"]
    assert answer["choices"][0]["message"]["reasoning_content"] == "thought"
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 1
    assert episode.usage == Usage(5, 2, 1, 1, 0.5, 1)


async def test_what_cannot_be_translated_is_refused_by_name(lab: Any, openai_client: Client) -> None:
    import openai

    def program(variables: Any) -> Any:
        found = []
        for more in (
            {"n": 2},
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            {"logprobs": True},
        ):
            with pytest.raises(openai.BadRequestError) as error:
                openai_client(variables).chat.completions.create(**{"model": "m", "messages": QUESTION, **more})
            found.append(error.value.message)
        return found

    (episode,) = await lab.play(program, "builtin/oracle")
    for words, what in zip(episode.terminal_info["output"], ("n", "input_audio", "logprobs"), strict=True):
        assert what in words.split("cannot be given")[1]


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"[]", b'{"model":"m"}', b'{"messages":5}', b'{"messages":[5]}', b'{"messages":[{"role":"x"}]}',
     b'{"messages":[{"role":"user","content":5}]}', b'{"messages":[],"tools":5}',
     b'{"messages":[{"role":"user","content":[5]}]}',
     b'{"messages":[{"role":"user","content":"x"}],"temperature":"hot"}', b"\xff\xfe"],
)  # fmt: skip
async def test_nonsense_is_answered_by_400_and_not_recorded(lab: Any, post: Any, body: bytes) -> None:
    def program(variables: Any) -> Any:
        status, text = post(variables, "/chat/completions", body)
        return [status, json.loads(text)["error"]["type"]]

    (episode,) = await lab.play(program, "builtin/oracle")
    assert episode.terminal_info["output"] == [400, "invalid_request_error"]
    assert lab.calls(episode) == []
