"""What goes wrong between a program and its model: the program hears of it clearly, and the record says it."""

import asyncio
import gzip
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.conftest import LoopClock

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause
from mesocosm.core.run import Limits
from mesocosm.engine.outage import MOST_IN_A_ROW
from mesocosm.proxy.endpoint import APIS
from mesocosm.testing.dialect import ScriptedAnswer, openai_answer
from mesocosm.testing.fault import CLOSE, CUT, EMPTY_BODY, GARBAGE, HANG, RATE_LIMIT, SERVER_ERROR, Fault
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    import anthropic
    import openai

OpenAI = Callable[[Any], "openai.OpenAI"]
Anthropic = Callable[[Any], "anthropic.Anthropic"]
ONCE = Limits(retries=0)
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def failing(client: Callable[[Any], Any], **more: Any) -> Callable[[Any], Any]:
    """Return a program that asks once and returns status and body of what it meets."""

    import anthropic
    import openai

    def program(variables: Any) -> Any:
        try:
            if "ANTHROPIC" in more.get("model", ""):
                client(variables).messages.create(max_tokens=9, messages=QUESTION, **more)
            else:
                client(variables).chat.completions.create(**{"model": "m", "messages": QUESTION, **more})
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            return [error.status_code, error.response.json(), dict(error.response.headers)]
        return ["answered"]

    return program


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize(("fault", "status"), [(RATE_LIMIT, 429), (SERVER_ERROR, 500), (Fault(status=418), 418)])
async def test_errors_of_the_server_are_passed_on_as_they_are(
    lab: Any, openai_client: OpenAI, fault: Fault, status: int
) -> None:
    async with ModelServer("ok", faults=[fault]) as server:
        (episode,) = await lab.play(failing(openai_client), f"vllm/m@{server.openai_url}", limits=ONCE)
    got, body, headers = episode.terminal_info["output"]
    assert (got, body["error"]["message"]) == (status, fault.text)
    assert headers.get("retry-after", "") == fault.retry_after
    assert lab.calls(episode) == []
    (failed,) = lab.failures(episode)
    assert failed["status"] == status
    assert fault.text in failed["message"]
    assert failed["asked"] == "m"
    assert lab.said(episode) == [("user", "what is 2+2?")]


LLAMA = (
    b'{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)",'
    b'"type":"exceed_context_size_error","n_ctx":4096}}'
)
LITELLM = (
    b'{"error":{"message":"litellm.ContextWindowExceededError: this is too long","type":"invalid_request_error",'
    b'"param":null,"code":"400"}}'
)
NAMED = b'{"error":{"message":"exceeds the maximum context length of 4096 tokens","code":"too_long"}}'


@pytest.mark.parametrize(
    ("raw", "code"),
    [(LLAMA, "context_length_exceeded"), (LITELLM, "context_length_exceeded"), (NAMED, "too_long")],
)
async def test_a_conversation_that_is_too_long_has_the_code_that_clients_know(
    lab: Any, openai_client: OpenAI, raw: bytes, code: str
) -> None:
    async with ModelServer("ok", faults=[Fault(status=400, raw=raw)]) as server:
        (episode,) = await lab.play(failing(openai_client), f"vllm/m@{server.openai_url}", limits=ONCE)
    got, body, _ = episode.terminal_info["output"]
    assert (got, body["error"]["code"]) == (400, code)
    assert body["error"]["message"].encode() in raw
    (failed,) = lab.failures(episode)
    assert body["error"]["message"] in failed["message"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("fault", [Fault(status=429, text="slow down", retry_after="0"), SERVER_ERROR, CLOSE])
async def test_a_call_that_may_succeed_later_is_made_again(
    lab: Any, openai_client: OpenAI, fault: Fault, streamed: bool
) -> None:
    async with ModelServer("ok", faults=[fault, fault]) as server:
        program = failing(openai_client, stream=streamed)
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == ["answered"]
    assert episode.failure is None
    assert lab.failures(episode) == []
    assert [event.payload["try"] for event in lab.events(episode, Kind.RETRY)] == [1, 2]
    assert episode.retries == 2


async def test_the_last_failure_is_passed_on_and_clients_are_kept_from_going_on(
    lab: Any, openai_client: OpenAI
) -> None:
    async with ModelServer("ok", faults=[SERVER_ERROR] * 9) as server:
        (episode,) = await lab.play(failing(openai_client), f"vllm/m@{server.openai_url}", limits=Limits(retries=3))
    got, body, headers = episode.terminal_info["output"]
    assert (got, body["error"]["message"], headers["x-should-retry"]) == (500, SERVER_ERROR.text, "false")
    assert episode.retries == 3
    assert len(lab.failures(episode)) == 1


async def test_a_refusal_for_want_of_money_is_not_repeated_and_ends_the_run(lab: Any, openai_client: OpenAI) -> None:
    broke = Fault(status=429, text="insufficient_quota")
    async with ModelServer("ok", faults=[broke] * 3) as server:
        await lab.play(failing(openai_client), f"vllm/m@{server.openai_url}")
        assert server.served == 1
    assert "insufficient_quota" in lab.run.error
    assert lab.run.counts.pending == 1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("fault", "status"), [(CLOSE, 502), (HANG, 504)])
async def test_a_server_that_does_not_answer_is_told_in_the_words_of_the_api(
    lab: Any, openai_client: OpenAI, fault: Fault, status: int, streamed: bool
) -> None:
    async with ModelServer("ok", faults=[fault, fault]) as server:
        program, patience = failing(openai_client, stream=streamed), 0.2 if fault is HANG else 60.0
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}", timeout_s=patience, limits=ONCE)
    got, body, _ = episode.terminal_info["output"]
    assert got == status
    assert "did not answer" in body["error"]["message"]
    (failed,) = lab.failures(episode)
    assert failed["status"] == status
    assert episode.status is EpisodeStatus.CANCELLED
    assert episode.failure.cause == (Cause.MODEL_TIMEOUT if fault is HANG else Cause.MODEL_UNAVAILABLE)


async def test_a_server_that_is_gone_is_told_to_anthropics_client(lab: Any, anthropic_client: Anthropic) -> None:
    async with ModelServer("ok", faults=[CLOSE, CLOSE]) as server:
        program = failing(anthropic_client, model="ANTHROPIC")
        (episode,) = await lab.play(program, f"anthropic/c@{server.url}", limits=ONCE)
    status, body, _ = episode.terminal_info["output"]
    assert (status, body["type"], body["error"]["type"]) == (502, "error", "api_error")


@pytest.mark.parametrize("fault", [GARBAGE, EMPTY_BODY])
async def test_an_answer_that_is_none_is_passed_on_and_recorded_as_failed(lab: Any, post: Any, fault: Fault) -> None:
    body = b'{"model":"m","messages":[]}'
    async with ModelServer("ok", faults=[fault]) as server:
        (episode,) = await lab.play(
            lambda variables: post(variables, "/chat/completions", body), f"vllm/m@{server.openai_url}"
        )
    assert episode.terminal_info["output"][0] == 200
    (failed,) = lab.failures(episode)
    assert failed["status"] == 200
    assert failed["cause"] == "model_invalid"


async def test_a_stream_that_breaks_off_ends_in_an_error(lab: Any, openai_client: OpenAI) -> None:
    import openai

    def program(variables: Any) -> Any:
        pieces: list[Any] = []
        try:
            stream: Any = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
            for part in stream:
                pieces.append(part.choices[0].delta.content)  # noqa: PERF401  (what came before the error counts)
        except openai.APIError as error:
            return [pieces, error.message]
        return [pieces, ""]

    async with ModelServer("one two three four five six seven eight", faults=[CUT]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    pieces, message = episode.terminal_info["output"]
    assert pieces
    assert "did not answer" in message
    (failed,) = lab.failures(episode)
    assert failed["status"] == 502
    assert failed["text"] == "".join(piece or "" for piece in pieces)


class Dripping(LoopbackServer):
    """Streams one piece and the rest only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.lost = asyncio.Event()
        self.connection: LoopbackConnection | None = None

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.method == "GET":
            connection.send(response(200, b"{}"))
            return
        self.asked += 1
        self.connection = connection
        first = b'data: {"model":"m","choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
        connection.send(STREAM_HEAD + chunk(first))

    def go_on(self) -> None:
        assert self.connection is not None
        rest = (
            b'data: {"choices":[{"index":0,"delta":{"content":" two"},"finish_reason":"stop"}]}\n\n'
            b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
        )
        self.connection.send(chunk(rest) + b"0\r\n\r\n")


async def test_pieces_arrive_while_the_rest_is_not_there_yet(lab: Any, openai_client: OpenAI) -> None:
    loop = asyncio.get_running_loop()
    async with Dripping() as server:

        def program(variables: Any) -> Any:
            stream: Any = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
            first = next(stream).choices[0].delta.content
            loop.call_soon_threadsafe(server.go_on)
            return [first, [part.choices[0].delta.content for part in stream]]

        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1")
    assert episode.terminal_info["output"] == ["one", [" two"]]
    assert (episode.usage.prompt, episode.usage.completion) == (4, 2)


async def test_silence_in_the_middle_of_a_stream_is_ended(
    lab: Any, openai_client: OpenAI, loop_clock: LoopClock
) -> None:
    import openai

    loop = asyncio.get_running_loop()

    def program(variables: Any) -> Any:
        stream: Any = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
        try:
            next(stream)
            loop.call_soon_threadsafe(loop_clock.advance, 60.0)
            return [part.choices[0].delta.content for part in stream]
        except openai.APIError as error:
            return error.message

    async with Dripping() as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1", timeout_s=60.0)
    assert "within 60 s" in episode.terminal_info["output"]
    (failed,) = lab.failures(episode)
    assert (failed["status"], failed["text"]) == (504, "one")


async def test_a_program_that_goes_away_ends_the_call_at_the_server(lab: Any, openai_client: OpenAI) -> None:
    pause = threading.Event()
    async with Dripping() as server:

        def program(variables: Any) -> Any:
            client = openai_client(variables)
            stream: Any = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
            first = next(stream).choices[0].delta.content
            stream.close()
            client.close()
            while server.connection in server._open:
                pause.wait(0.005)
            return first

        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1")
    assert episode.terminal_info["output"] == "one"
    (failed,) = lab.failures(episode)
    assert (failed["status"], failed["cause"], failed["text"]) == (499, "cancelled", "one")


async def test_a_call_that_outlives_its_program_is_ended_and_recorded(lab: Any) -> None:
    program = """
import os
from urllib.request import Request, urlopen
body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
key = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
answer = urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, key))
print("one" in answer.readline().decode(), flush=True)
os._exit(0)
"""
    async with Dripping() as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1")
    assert episode.terminal_info["output"] == "True\n"
    (failed,) = lab.failures(episode)
    assert failed["status"] == 499


class Compressing(LoopbackServer):
    """Answers compressed, whether asked to or not."""

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.method == "GET":
            connection.send(response(200, b"{}"))
        elif request.body.get("stream"):
            data = (
                b'data: {"choices":[{"index":0,"delta":{"content":"packed"},"finish_reason":"stop"}]}\n\n'
                b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
            )
            packed = gzip.compress(data)
            head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
            connection.send(head + chunk(packed[:20]) + chunk(packed[20:]) + b"0\r\n\r\n")
        else:
            body = gzip.compress(openai_answer(ScriptedAnswer("packed", prompt_tokens=4, completion_tokens=2), "m", 0))
            connection.send(response(200, body, "content-encoding: gzip\r\n"))


async def test_compressed_answers_are_read(lab: Any, openai_client: OpenAI) -> None:
    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).chat.completions.create
        whole = create(model="m", messages=QUESTION).choices[0].message.content
        return [whole, "".join(p.choices[0].delta.content for p in create(model="m", messages=QUESTION, stream=True))]

    async with Compressing() as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1")
    assert episode.terminal_info["output"] == ["packed", "packed"]
    assert [call["text"] for call in lab.calls(episode)] == ["packed", "packed"]
    assert (episode.usage.prompt, episode.usage.completion) == (8, 4)


async def test_an_old_server_that_cannot_count_streams_is_asked_without(lab: Any, openai_client: OpenAI) -> None:
    fault = Fault(status=400, text="unknown field stream_options")

    def program(variables: Any) -> Any:
        create: Any = openai_client(variables).chat.completions.create
        streams = [create(model="m", messages=QUESTION, stream=True) for _ in range(2)]
        return ["".join(part.choices[0].delta.content or "" for part in stream) for stream in streams]

    async with ModelServer("fine", faults=[fault]) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
        bodies = [call.body for call in server.calls]
    assert episode.terminal_info["output"] == ["fine", "fine"]
    assert ["stream_options" in body for body in bodies] == [True, False, False]
    assert any("they are estimated" in warning for warning in lab.run.warnings)
    assert [call["estimated"] for call in lab.calls(episode)] == [True, True]
    assert episode.usage.total > 0


async def test_failures_of_a_translated_call_come_with_their_status(lab: Any, openai_client: OpenAI) -> None:
    async with ModelServer("ok", faults=[Fault(status=400, text="too hot")] * 9) as server:
        program = failing(openai_client)
        (episode,) = await lab.play(program, f"ollama/llama3.2@{server.url}")
    status, body, headers = episode.terminal_info["output"]
    assert status == 400
    assert "too hot" in body["error"]["message"]
    assert headers["x-should-retry"] == "false"
    (failed,) = lab.failures(episode)
    assert failed["status"] == 400


async def test_a_translated_call_that_its_program_gives_up_is_recorded(lab: Any, openai_client: OpenAI) -> None:
    import openai

    def program(variables: Any) -> Any:
        client = openai_client(variables).with_options(timeout=0.2)
        try:
            client.chat.completions.create(model="m", messages=QUESTION)
        except openai.APITimeoutError:
            return "gave up"
        return "answered"

    async with ModelServer("ok", models=["llama3.2"], faults=[HANG]) as server:
        (episode,) = await lab.play(program, f"ollama/llama3.2@{server.url}")
    assert episode.terminal_info["output"] == "gave up"
    (failed,) = lab.failures(episode)
    assert (failed["status"], failed["path"]) == (499, "/chat/completions")


class Ending(LoopbackServer):
    """Streams some events, and ends the stream properly: by its last chunk, or by closing a body without a length."""

    def __init__(self, *events: str, closing: bool = False) -> None:
        super().__init__()
        self._events = [f"data: {event}\n\n".encode() for event in events]
        self._closing = closing

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.method == "GET":
            connection.send(response(200, b'{"data": [{"id": "m"}]}'))
        elif self._closing:
            connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(self._events))
            connection.finish()
        else:
            connection.send(STREAM_HEAD + b"".join(map(chunk, self._events)) + b"0\r\n\r\n")


def streaming(path: str) -> Callable[[Any], Any]:
    """Return a program that takes whatever its stream holds."""

    def program(variables: Any) -> Any:
        answer = httpx.post(**question(path, variables))
        return [answer.status_code, answer.text]

    return program


def question(path: str, variables: Any) -> Any:
    """Return what asks for a stream."""
    if path == "/messages":
        url, key = f"{variables['ANTHROPIC_BASE_URL']}/v1/messages", {"x-api-key": variables["ANTHROPIC_API_KEY"]}
    else:
        url = variables["OPENAI_BASE_URL"] + path
        key = {"authorization": f"Bearer {variables['OPENAI_API_KEY']}"}
    asked = {"model": "m", "stream": True, "max_tokens": 9, "messages": QUESTION, "prompt": "x", "input": "x"}
    fields = {"/responses": ("model", "stream", "input"), "/completions": ("model", "stream", "prompt")}
    wanted = fields.get(path, ("model", "stream", "max_tokens", "messages"))
    return {"url": url, "json": {name: asked[name] for name in wanted}, "headers": key, "timeout": 60}


CHAT = '{"model":"m","choices":[{"index":0,"delta":{"content":"one"}}]}'
TEXT = '{"model":"m","choices":[{"index":0,"text":"one"}]}'
MESSAGE = (
    '{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}',
)
RESPONSE = '{"type":"response.output_text.delta","delta":"one"}'
STREAMS = {"/chat/completions": (CHAT,), "/completions": (TEXT,), "/messages": MESSAGE, "/responses": (RESPONSE,)}


def model(path: str, server: LoopbackServer) -> str:
    return f"anthropic/m@{server.url}" if path == "/messages" else f"vllm/m@{server.url}/v1"


@pytest.mark.parametrize("closing", [False, True])
@pytest.mark.parametrize("path", STREAMS)
async def test_a_stream_that_ends_without_its_end_is_no_answer(lab: Any, path: str, closing: bool) -> None:
    async with Ending(*STREAMS[path], closing=closing) as server:
        (episode,) = await lab.play(streaming(path), model(path, server), limits=ONCE)
    assert episode.status is EpisodeStatus.CANCELLED
    assert episode.failure.cause is Cause.MODEL_UNAVAILABLE
    assert "the stream broke off" in episode.failure.message
    (failed,) = lab.failures(episode)
    assert (failed["text"], failed["cause"]) == ("one", "model_unavailable")


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("/chat/completions", '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'),
        ("/chat/completions", "[DONE]"),
        ("/completions", '{"choices":[{"index":0,"text":"","finish_reason":"length"}]}'),
        ("/messages", '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}'),
        ("/messages", '{"type":"message_stop"}'),
        ("/responses", '{"type":"response.completed","response":{"status":"completed","output":[]}}'),
    ],
)
@pytest.mark.parametrize("closing", [False, True])
async def test_a_stream_that_says_why_it_ended_is_an_answer(lab: Any, path: str, end: str, closing: bool) -> None:
    async with Ending(*STREAMS[path], end, closing=closing) as server:
        (episode,) = await lab.play(streaming(path), model(path, server), limits=ONCE)
    assert episode.status is EpisodeStatus.COMPLETED
    assert lab.failures(episode) == []
    assert "error" not in episode.terminal_info["output"][1]


async def test_a_program_is_told_that_its_stream_broke_off(lab: Any, openai_client: OpenAI) -> None:
    import openai

    def program(variables: Any) -> Any:
        stream: Any = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
        try:
            return [part.choices[0].delta.content for part in stream]
        except openai.APIError as error:
            return error.message

    async with Ending(CHAT) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1", limits=ONCE)
    (failed,) = lab.failures(episode)
    assert "the stream broke off" in failed["message"]
    assert "the stream broke off" in episode.failure.message


async def test_what_breaks_behind_the_end_of_an_answer_takes_nothing_of_it(lab: Any, openai_client: OpenAI) -> None:
    class Breaking(Ending):
        def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
            if request.method == "GET":
                super().receive(connection, request)
                return
            connection.send(STREAM_HEAD + b"".join(map(chunk, self._events)))
            connection.finish()

    def program(variables: Any) -> Any:
        stream: Any = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
        return [part.choices[0].delta.content for part in stream]

    async with Breaking(CHAT, '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}') as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.url}/v1", limits=ONCE)
    assert episode.status is EpisodeStatus.COMPLETED
    assert episode.terminal_info["output"][0] == "one"
    assert [call["text"] for call in lab.calls(episode)] == ["one"]


class Lingering(Ending):
    """Streams some events and leaves the stream open."""

    connection: LoopbackConnection | None = None

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.method == "GET":
            super().receive(connection, request)
            return
        self.connection = connection
        connection.send(STREAM_HEAD + b"".join(map(chunk, self._events)))


def leaving(path: str, last: str, server: Lingering) -> Callable[[Any], Any]:
    """Return a program that closes its stream when it has read `last`, and ends when the proxy has closed it too."""

    def program(variables: Any) -> Any:
        text = ""
        with httpx.stream("POST", **question(path, variables)) as answer:
            for piece in answer.iter_text():
                text += piece
                if last in text:
                    break
        while server.connection in server._open:
            threading.Event().wait(0.005)
        return text

    return program


BROKEN_OFF = '{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}'
OVERLOADED = '{"error":{"message":"overloaded","code":503}}'


@pytest.mark.parametrize(
    ("path", "error", "cause"),
    [
        ("/chat/completions", BROKEN_OFF, Cause.MODEL_INVALID),
        ("/chat/completions", OVERLOADED, Cause.MODEL_UNAVAILABLE),
        ("/completions", BROKEN_OFF, Cause.MODEL_INVALID),
        ("/completions", OVERLOADED, Cause.MODEL_UNAVAILABLE),
        (
            "/messages",
            '{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}',
            Cause.MODEL_UNAVAILABLE,
        ),
        ("/responses", '{"type":"error","message":"overloaded"}', Cause.MODEL_INVALID),
    ],
)
@pytest.mark.parametrize("leaves", [False, True])
async def test_an_error_within_a_stream_is_no_answer_also_where_the_program_reads_no_further(
    lab: Any, path: str, error: str, cause: Cause, leaves: bool
) -> None:
    kind = Lingering if leaves else Ending
    async with kind(*STREAMS[path], error) as server:
        program = leaving(path, error, server) if isinstance(server, Lingering) else streaming(path)
        (episode,) = await lab.play(program, model(path, server), limits=ONCE)
    assert episode.status is EpisodeStatus.CANCELLED
    assert episode.failure.cause is cause
    (failed,) = lab.failures(episode)
    assert (failed["text"], failed["cause"]) == ("one", cause.value)


async def test_a_stream_that_is_left_behind_its_end_is_an_answer(lab: Any) -> None:
    end = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    async with Lingering(CHAT, end) as server:
        (episode,) = await lab.play(leaving("/chat/completions", end, server), f"vllm/m@{server.url}/v1", limits=ONCE)
    assert episode.status is EpisodeStatus.COMPLETED
    assert [call["text"] for call in lab.calls(episode)] == ["one"]


async def test_a_context_that_overflows_within_a_stream_is_the_programs_own(lab: Any) -> None:
    error = '{"error":{"message":"maximum context length is 2048 tokens","code":"400"}}'
    async with Ending(CHAT, error) as server:
        (episode,) = await lab.play(streaming("/chat/completions"), f"vllm/m@{server.url}/v1", limits=ONCE)
    assert episode.status is EpisodeStatus.COMPLETED
    assert lab.failures(episode)[0]["cause"] == "context_overflow"


@pytest.mark.parametrize("path", ["/chat/completions", "/completions"])
@pytest.mark.parametrize("second", ['{"index":1}', '{"index":1,"finish_reason":"error"}'])
async def test_a_stream_of_several_choices_is_an_answer_when_all_of_them_have_come_to_their_end(
    lab: Any, path: str, second: str
) -> None:
    first = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    async with Ending(*STREAMS[path], '{"choices":[{"index":1}]}', first, f'{{"choices":[{second}]}}') as server:
        (episode,) = await lab.play(streaming(path), f"vllm/m@{server.url}/v1", limits=ONCE)
    assert episode.status is EpisodeStatus.CANCELLED
    assert len(lab.failures(episode)) == 1


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/chat/completions", {"choices": [{"message": {"content": "a"}}, {"finish_reason": "error"}]}),
        ("/chat/completions", {"choices": [{"message": {"content": ""}}], "error": {"code": 502}}),
        ("/completions", {"choices": [{"text": "hal", "finish_reason": "error"}]}),
        ("/responses", {"status": "cancelled", "output": []}),
        ("/responses", {"status": "queued", "output": []}),
    ],
)
def test_an_answer_that_its_server_did_not_bring_to_an_end_is_none(path: str, answer: Any) -> None:
    assert APIS[path].read_answer(answer) is None


@pytest.mark.parametrize(("fault", "status"), [(Fault(status=400, text="odd"), 400), (GARBAGE, 200)])
async def test_whatever_comes_of_the_first_call_after_an_outage_lets_others_go_on(
    lab: Any, post: Any, fault: Fault, status: int
) -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'
    down = Fault(status=503, text="busy")
    async with ModelServer("ok", faults=[*[down] * MOST_IN_A_ROW, fault]) as server:
        (episode,) = await lab.play(
            lambda variables: [post(variables, "/chat/completions", body)[0] for _ in range(2)],
            f"vllm/m@{server.openai_url}",
            limits=Limits(retries=MOST_IN_A_ROW),
        )
    assert episode.terminal_info["output"] == [status, 200]
    assert episode.status is EpisodeStatus.COMPLETED
