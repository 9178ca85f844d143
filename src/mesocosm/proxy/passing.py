"""Calls that are passed on to the server of the run's model, byte for byte, and read on their way."""

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.core.gateway import Forwarded, Reachable, Tap, Upstream
from mesocosm.core.model import ModelReply
from mesocosm.http.client import Client
from mesocosm.http.errors import HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.http.streamed import Streamed
from mesocosm.proxy import sse
from mesocosm.proxy.api import GONE, Api, Asked, Assembler, object_in, part
from mesocosm.proxy.server import JSON, Gone, Reply, Request

_encode = msgspec.json.Encoder().encode
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504, 529})
_NO_MONEY = re.compile(r"insufficient[ _](quota|credits?|balance|funds)|payment required|billing", re.IGNORECASE)
"""A refusal that says this is no matter of waiting."""
_SENT = frozenset({"content-type", "accept", "openai-beta", "idempotency-key", "http-referer", "x-title"})
_RETURNED = re.compile(
    r"content-type|cache-control|retry-after(-ms)?|(x-)?request-id|x-should-retry|openai-(model|version|processing-ms)"
    r"|(x|anthropic)-ratelimit-.*"
)


@dataclass(slots=True)
class Passage:
    """One call on its way; `record` is called once."""

    api: Api
    asked: Asked
    tap: Tap
    model: Reachable
    started: float = field(default_factory=time.perf_counter)
    recorded: bool = False
    tries: int = 1

    async def again(self, status: int, error: str, headers: Mapping[str, str]) -> bool:
        """Return whether a failed try is followed by another one, after the wait that is due."""
        if headers.get("x-should-retry") == "false" or _NO_MONEY.search(error):
            return False
        if not await self.tap.again(status, error, retry_after(headers.get), self.tries):
            return False
        self.tries += 1
        self.started = time.perf_counter()
        return True

    @property
    def final(self) -> Mapping[str, str]:
        """Headers that keep the program's client from trying again what was tried here often enough."""
        return {"x-should-retry": "false"} if self.tries > 1 else {}

    def record(self, reply: ModelReply | None, status: int, error: str = "") -> None:
        """Record what became of the call, the first time."""
        if self.recorded:
            return
        self.recorded = True
        latency = time.perf_counter() - self.started
        if reply is not None:
            usage = reply.usage if reply.usage.cost_usd is not None else self.model.priced(reply.usage)
            name = reply.model or self.asked.call.model
            reply = replace(reply, usage=usage, latency_s=latency, model=name)
        self.tap.forwarded(Forwarded(self.asked.call, self.asked.messages, reply, status, error, latency))


class Passing:
    """Passes calls on to one server. Use it within one event loop; `close` drops its connections.

    `silence_s` is the longest that the server may say nothing.
    """

    def __init__(self, model: Reachable, silence_s: float) -> None:
        self.upstream: Upstream = model.upstream
        self._model = model
        self._silence_s = silence_s
        self._client = Client()
        self._counts_streams = True

    async def close(self) -> None:
        """Drop all connections."""
        await self._client.close()

    async def converse(self, api: Api, asked: Asked, tap: Tap, request: Request, reply: Reply) -> None:
        """Pass a call on and its answer back, and record it. Raises Gone."""
        passage = Passage(api, asked, tap, self._model)
        assembler = api.assembler()
        try:
            await self._converse(passage, assembler, request, reply)
        except HttpError as error:
            await self._failed(passage, assembler, error, reply)
        except (Gone, asyncio.CancelledError):
            # What was said to its end counts, whether or not the program took the last bytes.
            passage.record(assembler.reply(), GONE, "" if assembler.complete else "the program closed the connection")
            raise

    async def plain(self, method: str, path: str, request: Request, reply: Reply, api: Api) -> None:
        """Pass on what is no question to the model, such as the list of models. Raises Gone."""
        body = request.body if method == "POST" else None
        try:
            async with self._open(method, path, body, request) as answer:
                whole = await answer.read()
        except HttpError as error:
            await self._refuse(api, error, reply)
            return
        await reply.send(whole.status, self._safe(whole.body), _returned(whole.headers))

    async def _converse(self, passage: Passage, assembler: Assembler, request: Request, reply: Reply) -> None:
        """Try until there is an answer to hand back, or no further try is due."""
        while True:
            try:
                failed = await self._once(passage, assembler, request, reply)
            except HttpError as error:
                if reply.started or not await passage.again(_status(error), _told(error), {}):
                    raise
                continue
            if failed is None:
                return
            told = _words(passage, failed.status, self._safe(failed.body))
            if not await passage.again(failed.status, told, failed.headers):
                await self._hand_back_whole(passage, failed.status, failed.headers, failed.body, reply)
                return

    async def _once(self, passage: Passage, assembler: Assembler, request: Request, reply: Reply) -> Response | None:
        """Ask once. Returns the answer where another try may give a better one; any other is handed back."""
        body, added = self._body(passage, request.body)
        path, streamed = passage.api.path, passage.asked.call.streamed
        async with self._open("POST", path, body, request, streamed=streamed) as answer:
            if answer.status in _TRANSIENT:
                return await answer.read()
            if not (added and answer.status in {400, 422}):
                await self._hand_back(passage, assembler, answer, reply, added)
                return None
            refused = await answer.read()
            if b"stream_options" not in refused.body:
                await self._hand_back_whole(passage, refused.status, refused.headers, refused.body, reply)
                return None
        # An old server that does not know how to count streams.
        self._counts_streams = False
        async with self._open("POST", path, request.body, request, streamed=streamed) as answer:
            await self._hand_back(passage, assembler, answer, reply, added=False)
        return None

    def _body(self, passage: Passage, body: bytes) -> tuple[bytes, bool]:
        """Return the body to send, and whether a count of tokens was asked for that the program did not ask for."""
        asked, api = passage.asked, passage.api
        options = asked.data.get("stream_options")
        if (
            api.path != "/chat/completions"
            or not asked.call.streamed
            or not self._counts_streams
            or part(options, "include_usage") is not None
        ):
            return body, False
        fields = read_json(body, dict[str, msgspec.Raw])
        fields["stream_options"] = msgspec.Raw(_encode({**(options or {}), "include_usage": True}))
        return _encode(fields), True

    def _open(
        self, method: str, path: str, body: bytes | None, request: Request, *, streamed: bool = False
    ) -> AbstractAsyncContextManager[Streamed]:
        upstream = self.upstream
        headers = {
            name: value
            for name, value in request.headers.items()
            if name in _SENT or (name.startswith("anthropic-") and upstream.protocol == "anthropic")
        }
        # Compression would hold pieces of a stream back.
        headers["accept-encoding"] = "identity" if streamed else "gzip, deflate"
        if upstream.key and upstream.protocol == "anthropic":
            headers["x-api-key"] = upstream.key
        elif upstream.key:
            headers["authorization"] = f"Bearer {upstream.key}"
        root = f"{upstream.base_url}/v1" if upstream.protocol == "anthropic" else upstream.base_url
        _, mark, query = request.target.partition("?")
        return self._client.stream(
            method, root + path + mark + query, headers=headers, body=body, timeout=self._silence_s
        )

    async def _hand_back(
        self, passage: Passage, assembler: Assembler, answer: Streamed, reply: Reply, added: bool
    ) -> None:
        streaming = answer.headers.get("content-type", "").startswith("text/event-stream")
        if answer.status != 200 or not streaming:
            whole = await answer.read()
            await self._hand_back_whole(passage, whole.status, whole.headers, whole.body, reply)
            return
        await reply.start(200, _returned(answer.headers))
        splitter = sse.Splitter()
        async for piece in answer.pieces():
            kept = [event for event in splitter.feed(piece) if not self._taken(passage, assembler, event, added)]
            await reply.write(self._safe(b"".join(kept)))
        rest = splitter.rest()
        if rest and not self._taken(passage, assembler, rest, added):
            await reply.write(self._safe(rest))
        self._record_stream(passage, assembler)
        await reply.end()

    def _taken(self, passage: Passage, assembler: Assembler, event: bytes, added: bool) -> bool:
        """Take an event in; whether it is the count that only we asked for. The last event ends the record."""
        data = sse.data_of(event)
        if not data:
            return False
        assembler.feed(data)
        if assembler.complete:
            self._record_stream(passage, assembler)
        return added and _is_count(data)

    def _record_stream(self, passage: Passage, assembler: Assembler) -> None:
        reply = assembler.reply()
        error = assembler.error or ("" if reply is not None else "the stream held no answer")
        passage.record(reply, 200, self._safe(error.encode()).decode("utf-8", "replace"))

    async def _hand_back_whole(
        self, passage: Passage, status: int, headers: Mapping[str, str], body: bytes, reply: Reply
    ) -> None:
        body = self._safe(body)
        said, error = None, ""
        if status == 200:
            said = _read(passage.api, body)
        if said is None:
            error = _words(passage, status, body)
        passage.record(said, status, error)
        await reply.send(status, body, {**_returned(headers), **passage.final})

    async def _failed(self, passage: Passage, assembler: Assembler, error: HttpError, reply: Reply) -> None:
        message = _told(error)
        passage.record(assembler.reply(), _status(error), message)
        if not reply.started:
            await self._refuse(passage.api, error, reply, passage.final)
            return
        await reply.write(passage.api.error_event(message))
        await reply.end()

    async def _refuse(self, api: Api, error: HttpError, reply: Reply, more: Mapping[str, str] = {}) -> None:
        status = _status(error)
        await reply.send(status, _encode(api.error(status, _told(error))), {**JSON, **more})

    def _safe(self, body: bytes) -> bytes:
        """Return `body` without our key, which some servers repeat in their errors."""
        key = self.upstream.key
        return body.replace(key.encode(), b"[key]") if len(key) > 4 else body


def _status(error: HttpError) -> int:
    return 504 if isinstance(error, Timeout) else 502


def _words(passage: Passage, status: int, body: bytes) -> str:
    return f"{passage.api.path} answered {status}: {body[:2000].decode('utf-8', 'replace') or 'nothing'}"


def _told(error: HttpError) -> str:
    return f"the model server did not answer: {error.url}: {error.cause}"


def _returned(headers: Mapping[str, str]) -> dict[str, str]:
    found = {name: value for name, value in headers.items() if _RETURNED.fullmatch(name)}
    return found if "content-type" in found else {**found, **JSON}


def _read(api: Api, body: bytes) -> ModelReply | None:
    data = object_in(body)
    return api.read_answer(data) if data else None


def _is_count(data: bytes) -> bool:
    """Return whether a chunk holds nothing but the count of tokens."""
    if b'"usage"' not in data:
        return False
    chunk = object_in(data)
    return chunk.get("choices") == [] and bool(chunk.get("usage"))
