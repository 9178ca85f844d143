"""Calls that are passed on to the server of the run's model, and read on their way.

The fields of a request stay as the program wrote them, but for the run's model and settings, which take their place.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace as replace_fields

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelReply, ModelSettings
from mesocosm.core.proxy import GONE, JUDGE, Forwarded, ModelRecorder, Reachable, Upstream
from mesocosm.core.usage import Usage
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.proxy import sse
from mesocosm.proxy.api import LIMITS, Api, Asked, Assembler, Fields, object_in, part, read_fields, status_in
from mesocosm.proxy.server import JSON, ClientDisconnected, ProxyReply, ProxyRequest

if TYPE_CHECKING:
    from mesocosm.http.transport import StreamedResponse

_encode = msgspec.json.Encoder().encode
CHARACTERS_PER_TOKEN = 4
"""By which the tokens of a call are estimated where its server does not count them."""

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504, 529})
_ABSENT = frozenset({404, 405, 501})
"""Statuses of servers that do not have what was asked for."""

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
    recorder: ModelRecorder
    model: Reachable
    started: float = field(default_factory=time.perf_counter)
    recorded: bool = False
    tries: int = 1

    async def again(self, status: int, error: str, headers: Mapping[str, str]) -> bool:
        """Return whether a failed try is followed by another one, after the wait that is due."""
        if headers.get("x-should-retry") == "false":
            return False
        if not await self.recorder.again(status, error, retry_after(headers.get), self.tries):
            return False
        self.tries += 1
        self.started = time.perf_counter()
        return True

    @property
    def final(self) -> Mapping[str, str]:
        """Headers that keep the program's client from trying again what was tried here often enough."""
        return {"x-should-retry": "false"} if self.tries > 1 else {}

    def settings(self, settings: ModelSettings) -> Fields:
        """Return the settings that go into the request: the run's, and for graders only those that they left open."""
        found = self.api.put_in(settings) or {}
        if self.recorder.role == JUDGE:
            given = self.asked.data.keys()
            limited = bool(given & LIMITS)
            found = {
                name: value for name, value in found.items() if name not in given and not (limited and name in LIMITS)
            }
        self.model.adapt(found)
        return found

    def record(self, reply: ModelReply | None, status: int, error: str = "", cause: Cause | None = None) -> None:
        """Record what became of the call, the first time."""
        if self.recorded:
            return
        self.recorded = True
        latency = time.perf_counter() - self.started
        if reply is not None:
            usage, estimated = reply.usage, not reply.usage.total
            if estimated:
                usage = _estimate(self.asked, reply)
            if usage.cost_usd is None:
                usage = self.model.priced(usage)
            name = reply.model or self.model.upstream.model
            reply = replace(reply, usage=usage, latency_s=latency, model=name, estimated=estimated, served=reply.model)
        self.recorder.forwarded(Forwarded(self.asked.call, self.asked.messages, reply, status, error, latency, cause))


class Passing:
    """Passes calls on to one server. Use it within one event loop; `close` drops its connections.

    `settings.timeout_s` is the longest that the server may say nothing.
    """

    def __init__(self, model: Reachable, settings: ModelSettings) -> None:
        self.upstream: Upstream = model.upstream
        self._model = model
        self._settings = settings
        # Two thousand embeddings of one call are that large, and the programs behind a proxy are all of one person.
        self._client = HttpClient(max_response=64 * 1024 * 1024)
        self._counts_streams = True
        self._absent: set[str] = set()

    def takes(self, api: Api, recorder: ModelRecorder) -> bool:
        """Return whether the server has this API, and the API takes the settings of the run."""
        if self.upstream.protocol != api.protocol or api.path in self._absent:
            return False
        return recorder.role == JUDGE or api.put_in(self._settings) is not None

    async def close(self) -> None:
        """Drop all connections."""
        await self._client.close()

    async def converse(
        self, api: Api, asked: Asked, recorder: ModelRecorder, request: ProxyRequest, reply: ProxyReply
    ) -> bool:
        """Pass a call on and its answer back, and record it; False when the server has no such API.

        Raises ClientDisconnected.
        """
        passage = Passage(api, asked, recorder, self._model)
        assembler = api.assembler()
        try:
            await recorder.turn()
            passage.started = time.perf_counter()
            return await self._converse(passage, assembler, request, reply)
        except HttpError as error:
            await self._failed(passage, assembler, error, reply)
            return True
        except (ClientDisconnected, asyncio.CancelledError):
            if assembler.ended or assembler.error:
                # What was said to its end counts, a failure too, whether or not the program took the last bytes.
                self._record_stream(passage, assembler)
            else:
                passage.record(assembler.reply(), GONE, "the program closed the connection")
            raise

    async def plain(self, method: str, path: str, request: ProxyRequest, reply: ProxyReply, api: Api) -> None:
        """Pass on what is not a question to the model, such as the list of models.

        Raises ClientDisconnected, MalformedRequest.
        """
        body = None
        if method == "POST":
            fields = read_fields(request.body)
            fields["model"] = msgspec.Raw(_encode(self.upstream.model))
            body = _encode(fields)
        try:
            async with self._open(method, path, body, request) as answer:
                whole = await answer.read()
        except HttpError as error:
            await self._refuse(api, error, reply)
            return
        await reply.send(whole.status, self._safe(whole.body), _returned(whole.headers))

    async def _converse(self, passage: Passage, assembler: Assembler, request: ProxyRequest, reply: ProxyReply) -> bool:
        """Try until there is an answer to hand back, or no further try is due; False when there is no such API."""
        while True:
            try:
                failed = await self._once(passage, assembler, request, reply)
            except HttpError as error:
                if reply.started or not await passage.again(_status(error), _told(error), {}):
                    raise
                continue
            if failed is None:
                return True
            if failed.status in _ABSENT:
                self._absent.add(passage.api.path)
                return False
            refused = self._refusal(passage, failed.status, failed.headers, self._safe(failed.body))
            spent = _NO_MONEY.search(_words(passage, failed.status, failed.body))
            if spent or not await passage.again(failed.status, str(refused), failed.headers):
                await self._hand_back_whole(passage, failed.status, failed.headers, failed.body, reply)
                return True

    async def _once(
        self, passage: Passage, assembler: Assembler, request: ProxyRequest, reply: ProxyReply
    ) -> Response | None:
        """Ask once. Returns the answer where asking again, or in another way, may give a better one."""
        path, streamed = passage.api.path, passage.asked.call.streamed
        while True:
            settings = passage.settings(self._settings)
            counted = self._counts(passage)
            body = self._body(passage, request.body, settings, counted=counted)
            async with self._open("POST", path, body, request, streamed=streamed) as answer:
                if answer.status in _TRANSIENT or (
                    answer.status in _ABSENT and passage.api.translatable(passage.asked)
                ):
                    return await answer.read()
                if answer.status not in {400, 422}:
                    await self._hand_back(passage, assembler, answer, reply, counted)
                    return None
                refused = await answer.read()
            if counted and b"stream_options" in refused.body:
                # An old server that does not know how to count streams.
                self._counts_streams = False
            elif not self._model.concedes(refused.status, self._safe(refused.body), settings):
                await self._hand_back_whole(passage, refused.status, refused.headers, refused.body, reply)
                return None

    def _counts(self, passage: Passage) -> bool:
        """Return whether the count of tokens in a stream must be asked for, because the program did not."""
        asked = passage.asked
        return (
            self._counts_streams
            and asked.call.streamed
            and passage.api.path == "/chat/completions"
            and part(asked.data.get("stream_options"), "include_usage") is None
        )

    def _body(self, passage: Passage, body: bytes, settings: Fields, *, counted: bool) -> bytes:
        """Return the body to send: that of the program with the run's model and settings."""
        asked = passage.asked
        fields = read_fields(body)
        if passage.recorder.role != JUDGE:
            for name in passage.api.owned:
                fields.pop(name, None)
        put: Fields = {**settings, "model": self.upstream.model}
        if isinstance(effort := put.get("reasoning"), dict) and isinstance(asked.data.get("reasoning"), dict):
            put["reasoning"] = {**asked.data["reasoning"], **effort}
        passage.asked = replace(asked, call=replace(asked.call, sent=put))
        if counted:
            options = asked.data.get("stream_options")
            put = {**put, "stream_options": {**(options or {}), "include_usage": True}}
        return _encode(fields | {name: msgspec.Raw(_encode(value)) for name, value in put.items()})

    def _open(
        self, method: str, path: str, body: bytes | None, request: ProxyRequest, *, streamed: bool = False
    ) -> AbstractAsyncContextManager["StreamedResponse"]:
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
            method, root + path + mark + query, headers=headers, body=body, timeout=self._settings.timeout_s
        )

    async def _hand_back(
        self, passage: Passage, assembler: Assembler, answer: "StreamedResponse", reply: ProxyReply, added: bool
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
        broken = self._record_stream(passage, assembler)
        if broken:
            # Else the program would take for an answer what is the beginning of one.
            await reply.write(passage.api.error_event(broken))
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

    def _record_stream(self, passage: Passage, assembler: Assembler) -> str:
        """Record a stream that is over; return what is wrong with it where it does not say so itself."""
        reply = assembler.reply()
        broken = ""
        if not assembler.error and reply is None:
            broken = "the stream held no answer"
        elif not assembler.error and not assembler.ended:
            broken = "the stream broke off: it ended without saying that the answer was complete"
        cause = Cause.MODEL_UNAVAILABLE if broken and reply is not None else None
        error, cause = self._error(passage, assembler) if assembler.error else (broken, cause)
        passage.record(reply, 200, error, cause)
        return broken

    def _error(self, passage: Passage, assembler: Assembler) -> tuple[str, Cause | None]:
        """Return what a stream says went wrong, and its cause where it names the status of that."""
        said, status = self._safe(assembler.error.encode(errors="replace")), assembler.status
        words = said.decode("utf-8", "replace")
        if status < 400:
            return words, None
        return words, self._refusal(passage, status, {}, _encode(passage.api.error(status, words))).cause

    async def _hand_back_whole(
        self, passage: Passage, status: int, headers: Mapping[str, str], body: bytes, reply: ProxyReply
    ) -> None:
        body = self._safe(body)
        said, error, cause = None, "", None
        if status == 200:
            said = _read(passage.api, body)
        if said is None:
            error = _words(passage, status, body)
            # Gateways put errors into a 200.
            named = status if status >= 300 else status_in(object_in(body).get("error"))
            if named >= 300:
                refused = self._refusal(passage, named, headers, body)
                error, cause = str(refused), refused.cause
        passage.record(said, status, error, cause)
        await reply.send(status, body, {**_returned(headers), **passage.final})

    def _refusal(self, passage: Passage, status: int, headers: Mapping[str, str], body: bytes) -> EpisodeError:
        return self._model.refusal(passage.api.path, status, headers, body, self._settings.max_tokens)

    async def _failed(self, passage: Passage, assembler: Assembler, error: HttpError, reply: ProxyReply) -> None:
        message = _told(error)
        # What broke behind the end of the answer took nothing of it.
        whole = reply.started and assembler.ended and not assembler.error
        if assembler.error:
            self._record_stream(passage, assembler)
        passage.record(assembler.reply(), 200 if whole else _status(error), "" if whole else message)
        if not reply.started:
            await self._refuse(passage.api, error, reply, passage.final)
            return
        if not whole:
            await reply.write(passage.api.error_event(message))
        await reply.end()

    async def _refuse(self, api: Api, error: HttpError, reply: ProxyReply, more: Mapping[str, str] = {}) -> None:
        status = _status(error)
        await reply.send(status, _encode(api.error(status, _told(error))), {**JSON, **more})

    def _safe(self, body: bytes) -> bytes:
        """Return `body` without our key, which some servers repeat in their errors."""
        key = self.upstream.key
        return body.replace(key.encode(), b"[key]") if len(key) > 4 else body


def _estimate(asked: Asked, reply: ModelReply) -> Usage:
    """Return what a call used by the length of its texts, where its server does not say it."""
    written = sum(len(message.text) + len(message.reasoning) for message in asked.messages)
    said = len(reply.text) + len(reply.reasoning) + len(_encode(reply.tool_calls) if reply.tool_calls else b"")
    completion = said // CHARACTERS_PER_TOKEN + 1 if said else 0
    return replace_fields(
        reply.usage, prompt=written // CHARACTERS_PER_TOKEN + 1, completion=completion, calls=1, cost_usd=None
    )


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
