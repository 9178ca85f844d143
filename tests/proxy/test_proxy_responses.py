"""OpenAI responses and embeddings of the official client."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mesocosm.core.message import Image, Text, ToolCall
from mesocosm.core.model import ModelReply
from mesocosm.core.usage import Usage
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import openai

Client = Callable[[Any], "openai.OpenAI"]
TOOL: Any = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}, "strict": False}
SAID = ScriptedAnswer("four and more", prompt_tokens=11, completion_tokens=3, cached_tokens=2)


async def test_a_response_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        responses = openai_client(variables).responses
        return responses.create(model="m", instructions="be brief", input="2+2?", max_output_tokens=9).output_text

    async with ModelServer(SAID) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == "four and more"
    (call,) = lab.calls(episode)
    assert (call["path"], call["text"], call["request"]["max_output_tokens"]) == ("/responses", "four and more", 9)
    assert lab.said(episode) == [("system", "be brief"), ("user", "2+2?")]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.cached) == (11, 3, 2)


async def test_a_streamed_response_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        stream: Any = openai_client(variables).responses.create(model="m", input="2+2?", stream=True)
        return [event.delta for event in stream if event.type == "response.output_text.delta"]

    async with ModelServer(SAID) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == ["four", " and", " more"]
    (call,) = lab.calls(episode)
    assert (call["text"], call["streamed"]) == ("four and more", True)
    assert (episode.usage.prompt, episode.usage.completion) == (11, 3)


async def test_function_calls_come_through_every_way(lab: Any, openai_client: Client, said: Any) -> None:
    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).responses.create
        whole = create(model="m", input="2+2?", tools=[TOOL])
        events = list(create(model="m", input="2+2?", tools=[TOOL], stream=True))
        pieces = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
        return [[r.output[0].name, r.output[0].arguments] for r in (whole, events[-1].response)] + [pieces]

    async with ModelServer(ScriptedAnswer("", tool_calls=(("add", {"a": 2}),))) as server:
        (passed,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    (asked,) = await lab.play(program, lab.model(said(ModelReply("", tool_calls=(ToolCall("t", "add", {"a": 2}),)))))
    for episode in (passed, asked):
        assert episode.terminal_info["output"] == [["add", '{"a":2}'], ["add", '{"a":2}'], '{"a":2}']
        for call in lab.calls(episode):
            assert [(c["name"], c["arguments"]) for c in call["tool_calls"]] == [("add", {"a": 2})]


async def test_all_that_a_model_of_ours_can_take_reaches_it(lab: Any, openai_client: Client, said: Any) -> None:
    model = said(ModelReply("seen", reasoning="thought", usage=Usage(10, 2, 4, 1, 0.5, 1)))
    history: Any = [
        {"role": "user", "content": [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
        ]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "let me add"}]},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ]  # fmt: skip
    format_: Any = {"format": {"type": "json_schema", "name": "out", "schema": {"type": "object"}}}

    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).responses.create
        return create(
            model="m", instructions="brief", input=history, temperature=0.25, max_output_tokens=33, text=format_
        ).model_dump()

    (episode,) = await lab.play(program, lab.model(model), temperature=0.75, max_tokens=99)
    request = model.requests[0]
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.messages[1].content == (Text("look"), Image("image/png", "AAAA"))
    assert (request.messages[2].text, request.messages[2].tool_calls) == ("let me add", (ToolCall("c", "add", {}),))
    assert (request.messages[3].text, request.messages[3].tool_call_id) == ("4", "c")
    assert (request.temperature, request.max_tokens) == (0.75, 99)
    assert (request.schema, request.schema_name) == ({"type": "object"}, "out")
    answer = episode.terminal_info["output"]
    assert [item["type"] for item in answer["output"]] == ["reasoning", "message"]
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] == 4


async def test_a_streamed_translation_reads_as_one_of_openais(lab: Any, openai_client: Client, said: Any) -> None:
    def program(variables: Any) -> Any:
        with openai_client(variables).responses.stream(model="m", input="2+2?") as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()
        return [kinds[0], kinds[-1], final.output_text]

    (episode,) = await lab.play(program, lab.model(said("four")))
    assert episode.terminal_info["output"] == ["response.created", "response.completed", "four"]


async def test_an_answer_cut_by_its_limit_says_so(lab: Any, openai_client: Client, said: Any) -> None:
    def program(variables: Any) -> Any:
        answer = openai_client(variables).responses.create(model="m", input="2+2?")
        return [answer.status, answer.incomplete_details.reason if answer.incomplete_details else None]

    async with ModelServer(ScriptedAnswer("fo", finish_reason="length")) as server:
        (passed,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    (asked,) = await lab.play(program, lab.model(said(ModelReply("fo", finish_reason="length"))))
    for episode in (passed, asked):
        assert episode.terminal_info["output"] == ["incomplete", "max_output_tokens"]
        assert lab.calls(episode)[0]["finish_reason"] == "length"


async def test_a_stored_conversation_cannot_be_translated(lab: Any, openai_client: Client) -> None:
    import openai

    def program(variables: Any) -> Any:
        try:
            openai_client(variables).responses.create(model="m", input="and?", previous_response_id="resp_1")
        except openai.BadRequestError as error:
            return error.message
        return "answered"

    (episode,) = await lab.play(program, "builtin/oracle")
    assert "previous_response_id" in episode.terminal_info["output"]


async def test_embeddings_are_passed_on_and_counted(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        found = openai_client(variables).embeddings.create(model="m", input=["a", "b"], encoding_format="float")
        return found.data[0].embedding

    async with ModelServer(ScriptedAnswer(prompt_tokens=11)) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == [0.25, -0.5]
    (call,) = lab.calls(episode)
    assert call["path"] == "/embeddings"
    assert lab.said(episode) == [("user", "a"), ("user", "b")]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.calls) == (11, 0, 1)


async def test_embeddings_of_a_model_without_a_server_are_refused(lab: Any, openai_client: Client) -> None:
    import openai

    def program(variables: Any) -> Any:
        try:
            openai_client(variables).embeddings.create(model="m", input="a")
        except openai.BadRequestError as error:
            return error.message
        return "answered"

    (episode,) = await lab.play(program, "builtin/oracle")
    assert "makes no embeddings" in episode.terminal_info["output"]


async def test_models_are_listed_by_their_server_or_by_the_run(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        return [model.id for model in openai_client(variables).models.list()]

    async with ModelServer(models=["a", "b"]) as server:
        (passed,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    (alone,) = await lab.play(program, "builtin/oracle")
    assert passed.terminal_info["output"] == ["a", "b"]
    assert alone.terminal_info["output"] == ["oracle"]
    assert lab.calls(passed) == []
