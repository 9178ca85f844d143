"""A fake model endpoint on loopback: OpenAI, Ollama, Anthropic and Gemini protocols, with faults on demand.

Responses of the OpenAI and Anthropic protocols are streamed if the request sets `stream`.

In a test::

    async with ModelServer("4", faults=[RATE_LIMIT]) as server:
        ...  # talk to server.openai_url or server.url

As a separate process: `python -m mesocosm.testing.model_server --port 8001 --delay 0.05`.
"""

import argparse
import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.testing import dialect, streaming
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault, FaultKind, sometimes
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.probabilities import echoed
from mesocosm.testing.validation import overflow, problem

Said = str | ScriptedAnswer
Answering = Callable[[dict[str, Any]], Said | Awaitable[Said]]
"""Called with the decoded request body; returns the model's reply, or an awaitable of it."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The response, error and stream formats of one wire protocol; `invalid` is its code of an invalid request."""

    answer: Callable[[ScriptedAnswer, str, int], bytes]
    error: Callable[[Fault], bytes]
    stream: Callable[[ScriptedAnswer, str, int, Mapping[str, Any]], Iterator[bytes]] | None = None
    invalid: str = "invalid_request_error"


OPENAI = Dialect(dialect.openai_answer, dialect.openai_error, streaming.openai_stream, invalid="400")
RESPONSES = Dialect(dialect.responses_answer, dialect.openai_error, streaming.responses_stream)
TEXTS = Dialect(dialect.text_answer, dialect.openai_error, streaming.text_stream)
EMBEDDINGS = Dialect(dialect.embeddings_answer, dialect.openai_error)
OLLAMA = Dialect(dialect.ollama_answer, dialect.ollama_error)
ANTHROPIC = Dialect(dialect.anthropic_answer, dialect.anthropic_error, streaming.anthropic_stream)
GEMINI = Dialect(dialect.gemini_answer, dialect.gemini_error, invalid="INVALID_ARGUMENT")


_ANYTHING = ("fake:latest", "llama3.2:latest")
"""Models that a server without `models` lists for Ollama clients; for OpenAI clients it lists `*`."""


class ModelServer(LoopbackServer):
    """A server that responds like a model.

    `answer` is the reply, or a function of the decoded request body. `delay` is in seconds before each response.
    `faults` are taken one per request (None: no fault); after the last one nothing fails. `models` are the known names;
    None accepts any name, but requires one. `key` is the only accepted key; empty accepts any. `absent` are paths that
    respond 404. Without `echoes`, completions of a text ignore `echo`, as llama.cpp's server does. The last `keep`
    requests are in `requests`; `served` counts all calls of the model.

    Invalid requests are rejected as by LiteLLM's proxy: 400 for a missing or unknown model, for missing fields or wrong
    types in the body, and for a prompt of more than `context` tokens; 401 for a wrong key, 404 for an unknown path, 405
    for a wrong method.
    """

    def __init__(
        self,
        answer: Said | Answering = "ok",
        *,
        delay: float = 0.0,
        faults: Iterable[Fault | None] = (),
        models: Sequence[str] | None = None,
        port: int = 0,
        keep: int = 10_000,
        key: str = "",
        absent: Sequence[str] = (),
        context: int | None = None,
        echoes: bool = True,
    ) -> None:
        super().__init__(port)
        self.answer = answer
        self.key = key
        self.absent: frozenset[str] = frozenset(absent)
        self.delay = delay
        self.models = models
        self.context = context
        self.echoes = echoes
        self.requests: deque[ReceivedRequest] = deque(maxlen=keep)
        self.served: int = 0
        self._faults = iter(faults)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients; Ollama and Anthropic clients use `url`."""
        return f"{self.url}/v1"

    @property
    def calls(self) -> list[ReceivedRequest]:
        """The kept requests that called the model, without listings."""
        return [request for request in self.requests if request.method == "POST"]

    async def stop(self) -> None:
        """Stop listening, drop every connection and cancel pending responses."""
        for task in self._tasks:
            task.cancel()
        await super().stop()

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        """Respond to one request, now or after the delay."""
        self.requests.append(request)
        spoken = _dialect(request.path)
        if self.key and not self._known(request):
            text = "Authentication Error, invalid proxy server token passed"
            connection.send(response(401, (spoken or OPENAI).error(Fault(status=401, text=text, code="401"))))
            return
        if request.method == "GET":
            connection.send(_wrong_method() if spoken else self._listing(request.path))
            return
        if spoken is None or request.path in self.absent:
            connection.send(response(404, OPENAI.error(Fault(text=f"nothing is at {request.path}"))))
            return
        self.served += 1
        fault = next(self._faults, None)
        refusal = None if fault else self._refusal(spoken, request)
        if fault is not None:
            self._later(lambda: _fail(connection, spoken, fault, request))
        elif refusal is not None:
            connection.send(response(400, spoken.error(refusal)))
        elif self.models is None and isinstance(self.answer, str | ScriptedAnswer) and b'"model"' in request.raw:
            self._send(connection, spoken, request, self.answer, "fake")
        else:
            self._consider(connection, spoken, request)

    def _refusal(self, spoken: Dialect, request: ReceivedRequest) -> Fault | None:
        """Return why a request is invalid for any model, or None."""
        if wrong := problem(request.path, request.raw):
            return Fault(status=400, text=wrong, code=spoken.invalid)
        if spoken is ANTHROPIC and not request.header("anthropic-version"):
            return Fault(status=400, text="anthropic-version: header is required", code="invalid_request_error")
        if self.context is not None and (tokens := len(request.raw) // 4) > self.context:
            text = overflow(tokens, self.context)
            return Fault(status=400, text=text, code="context_length_exceeded", param="messages")
        return None

    def _consider(self, connection: LoopbackConnection, spoken: Dialect, request: ReceivedRequest) -> None:
        try:
            body = request.body
        except msgspec.DecodeError as error:
            connection.send(response(400, spoken.error(Fault(status=400, text=f"the body is not JSON: {error}"))))
            return
        model = str(body.get("model") or "")
        if spoken is GEMINI:
            model = request.path.rpartition("/")[2].partition(":")[0]
        if not model or (self.models is not None and not {model, f"{model}:latest"} & set(self.models)):
            connection.send(_no_model(spoken, request.path, model))
            return
        said = self.answer(body) if callable(self.answer) else self.answer
        if inspect.isawaitable(said):
            task = asyncio.get_running_loop().create_task(self._wait(connection, spoken, request, said, model))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._send(connection, spoken, request, said, model)

    async def _wait(
        self,
        connection: LoopbackConnection,
        spoken: Dialect,
        request: ReceivedRequest,
        said: Awaitable[Said],
        model: str,
    ) -> None:
        self._send(connection, spoken, request, await said, model)

    def _send(
        self, connection: LoopbackConnection, spoken: Dialect, request: ReceivedRequest, said: Said, model: str
    ) -> None:
        if spoken is TEXTS and self.echoes and b'"echo"' in request.raw:
            said = echoed(said if isinstance(said, ScriptedAnswer) else ScriptedAnswer(said), request.body)
        payload = _payload(spoken, said, model, request)
        self._later(lambda: connection.send(payload))

    def _later(self, act: Callable[[], None]) -> None:
        if self.delay:
            asyncio.get_running_loop().call_later(self.delay, act)
        else:
            act()

    def _known(self, request: ReceivedRequest) -> bool:
        bearer = (request.header("authorization") or "").removeprefix("Bearer ")
        return self.key in {bearer, request.header("x-api-key"), request.header("x-goog-api-key")}

    def _listing(self, path: str) -> bytes:
        models = self.models if self.models is not None else _ANYTHING
        if path == "/api/tags":
            tags = [{"name": name, "model": name} for name in models]
            return response(200, msgspec.json.encode({"models": tags}))
        if path.endswith("/models"):
            listed = [{"id": name, "object": "model"} for name in (self.models if self.models is not None else ("*",))]
            return response(200, msgspec.json.encode({"object": "list", "data": listed}))
        return response(404, OPENAI.error(Fault(text=f"nothing is at {path}")))


def _no_model(spoken: Dialect, path: str, model: str) -> bytes:
    """Return the error response for an unknown model."""
    if spoken is OLLAMA:
        return response(404, spoken.error(Fault(status=404, text=f"model '{model}' not found")))
    text = f"{path}: Invalid model name passed in model={model or None}. Call `/v1/models` to view available models"
    return response(400, spoken.error(Fault(status=400, text=text, code="400")))


def _wrong_method() -> bytes:
    return response(405, b'{"detail":"Method Not Allowed"}', "allow: POST\r\n")


def _dialect(path: str) -> Dialect | None:
    if "/v1/v1/" in path:
        return None
    if path.endswith("/chat/completions"):
        return OPENAI
    if path == "/api/chat":
        return OLLAMA
    if path.endswith("/messages"):
        return ANTHROPIC
    if path.endswith("/responses"):
        return RESPONSES
    if path.endswith("/v1/completions"):
        return TEXTS
    if path.endswith("/embeddings"):
        return EMBEDDINGS
    return GEMINI if path.endswith(":generateContent") else None


def _payload(spoken: Dialect, said: Said, model: str, request: ReceivedRequest) -> bytes:
    answer = said if isinstance(said, ScriptedAnswer) else ScriptedAnswer(said)
    if spoken.stream is not None and b'"stream"' in request.raw and request.body.get("stream") is True:
        events = spoken.stream(answer, model, len(request.raw), request.body)
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        return head + chunks + b"0\r\n\r\n"
    return response(200, spoken.answer(answer, model, len(request.raw)))


def _fail(connection: LoopbackConnection, spoken: Dialect, fault: Fault, request: ReceivedRequest) -> None:
    match fault.kind:
        case FaultKind.HANG:
            return
        case FaultKind.CLOSE:
            connection.finish()
        case FaultKind.CUT:
            whole = _payload(spoken, "this answer is cut in the middle", "fake", request)
            connection.finish(whole[: -len(whole) // 4])
        case FaultKind.GARBAGE:
            connection.send(response(200, b"<html>this is not JSON</html>", content_type="text/html"))
        case FaultKind.EMPTY_BODY:
            connection.send(response(200, b""))
        case FaultKind.EMPTY_TEXT:
            connection.send(_payload(spoken, "", "fake", request))
        case FaultKind.STATUS:
            headers = f"retry-after: {fault.retry_after}\r\n" if fault.retry_after else ""
            if fault.header is not None:
                headers += f"{fault.header[0]}: {fault.header[1]}\r\n"
            body = spoken.error(fault) if fault.raw is None else fault.raw
            connection.send(response(fault.status, body, headers))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mesocosm.testing.model_server", description="A fake model endpoint on loopback."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--answer", default="ok", help="what the model says")
    parser.add_argument("--models", nargs="*", help="the models it has; any name without this flag")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail, 0 to 1")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults")
    return parser


async def _run(server: ModelServer) -> None:
    async with server:
        print(f"listening on {server.url}", flush=True)
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted; the first line on stdout is `listening on URL`."""
    given = _parser().parse_args(arguments)
    faults = sometimes(given.faults, given.seed) if given.faults else ()
    server = ModelServer(given.answer, delay=given.delay, faults=faults, models=given.models, port=given.port, keep=0)
    try:
        asyncio.run(_run(server))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
