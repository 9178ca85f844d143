"""Forward calls to the server of the run's model, and record them.

The fields of a request stay as the program wrote them, except for the run's model and settings, which replace them.
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
from mesocosm.http import sse
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.proxy.api import LIMITS, Api, Asked, Assembler, Fields, object_in, part, read_fields, status_in
from mesocosm.proxy.asking import CODES
from mesocosm.proxy.server import JSON, ClientDisconnected, ProxyReply, ProxyRequest

if TYPE_CHECKING:
    from mesocosm.http.transport import StreamedResponse

_encode = msgspec.json.Encoder().encode
NOTHING_WRITTEN = 1
"""The limit of a request that only asks how probable its own text is."""
UNMEASURED = "x-mesocosm-cause"
"""Header of a refusal that tells the program why there is no number."""
CHARACTERS_PER_TOKEN = 4
"""For estimating the tokens of a call if its server does not count them."""

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504, 529})
_ABSENT = frozenset({404, 405, 501})
"""Statuses of servers that do not offer the requested API."""

_NO_MONEY = re.compile(r"insufficient[ _](quota|credits?|balance|funds)|payment required|billing", re.IGNORECASE)
"""Matches refusals that waiting does not resolve."""
_SENT = frozenset({"content-type", "accept", "openai-beta", "idempotency-key", "http-referer", "x-title"})
_RETURNED = re.compile(
    r"content-type|cache-control|retry-after(-ms)?|(x-)?request-id|x-should-retry|openai-(model|version|processing-ms)"
    r"|(x|anthropic)-ratelimit-.*"
)


@dataclass(slots=True)
class Passage:
    """One forwarded call. Only its first `record` counts."""

    api: Api
    asked: Asked
    recorder: ModelRecorder
    model: Reachable
    started: float = field(default_factory=time.perf_counter)
    recorded: bool = False
    tries: int = 1
    sent: Fields = field(default_factory=dict)
    """The fields that replaced those of the program."""

    async def again(self, status: int, error: str, headers: Mapping[str, str]) -> bool:
        """Wait and return True if a failed attempt may be retried; otherwise return False."""
        if headers.get("x-should-retry") == "false":
            return False
        if not await self.recorder.again(status, error, retry_after(headers.get), self.tries):
            return False
        self.tries += 1
        self.started = time.perf_counter()
        return True

    @property
    def final(self) -> Mapping[str, str]:
        """Headers that stop the program's client from retrying a call that was already retried here."""
        return {"x-should-retry": "false"} if self.tries > 1 else {}

    def settings(self, settings: ModelSettings) -> Fields:
        """Return the settings for the request: the run's, and for graders only those that the grader did not set.

        A request that only asks how probable its own text is gets none: nothing is written.
        """
        found = {} if self.asked.scored else self.api.put_in(settings) or {}
        if self.recorder.role == JUDGE:
            given = self.asked.data.keys()
            limited = bool(given & LIMITS)
            found = {
                name: value for name, value in found.items() if name not in given and not (limited and name in LIMITS)
            }
        self.model.adapt(found)
        return found

    def record(self, reply: ModelReply | None, status: int, error: str = "", cause: Cause | None = None) -> None:
        """Record the outcome of the call, once."""
        if self.recorded:
            return
        self.recorded = True
        latency = time.perf_counter() - self.started
        if reply is not None:
            # The prompt is recorded already.
            text = reply.text.removeprefix(self.asked.echoed)
            usage, estimated = reply.usage, not reply.usage.total
            if estimated:
                usage = _estimate(self.asked, replace(reply, text=text))
            if usage.cost_usd is None:
                usage = self.model.priced(usage, reply.written)
            name = reply.model or self.model.upstream.model
            reply = replace(
                reply, text=text, usage=usage, latency_s=latency, model=name, estimated=estimated, served=reply.model
            )
        call = replace(self.asked.call, sent=self.sent)
        self.recorder.forwarded(Forwarded(call, self.asked.messages, reply, status, error, latency, cause))


class Passing:
    """Forwards calls to one server. Use it within one event loop; `close` drops its connections.

    `settings.timeout_s` is the longest time that the server may send nothing.
    """

    def __init__(self, model: Reachable, settings: ModelSettings) -> None:
        self.upstream: Upstream = model.upstream
        self._model = model
        self._settings = settings
        # One call with two thousand embeddings is that large, and a single user owns all programs behind a proxy.
        self._client = HttpClient(max_response=64 * 1024 * 1024)
        self._counts_streams = True
        self._absent: set[str] = set()

    def takes(self, api: Api, recorder: ModelRecorder) -> bool:
        """Return whether the server has this API, and the API can express the settings of the run."""
        if self.upstream.protocol != api.protocol or api.path in self._absent:
            return False
        return recorder.role == JUDGE or api.put_in(self._settings) is not None

    async def close(self) -> None:
        """Drop all connections."""
        await self._client.close()

    async def converse(
        self, api: Api, asked: Asked, recorder: ModelRecorder, request: ProxyRequest, reply: ProxyReply
    ) -> bool:
        """Forward a call, return its answer and record it; return False if the server has no such API.

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
                # A complete answer or error counts, even if the program did not read the last bytes.
                self._record_stream(passage, assembler)
            else:
                passage.record(assembler.reply(), GONE, "the program closed the connection")
            raise

    async def plain(self, method: str, path: str, request: ProxyRequest, reply: ProxyReply, api: Api) -> None:
        """Forward a request that does not call the model, such as one for the list of models.

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
        """Try until there is an answer to return or no retry is left; return False if there is no such API."""
        while True:
            try:
                failed = await self._once(passage, assembler, request, reply)
            except HttpError as error:
                if reply.started or not await passage.again(_status(error), _error_text(error), {}):
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
        """Send the call once. Return its response if a retry or another API may give a better one, otherwise None."""
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
                # An old server that does not support usage in streams.
                self._counts_streams = False
            elif not self._model.concedes(refused.status, self._safe(refused.body), settings):
                await self._hand_back_whole(passage, refused.status, refused.headers, refused.body, reply)
                return None

    def _counts(self, passage: Passage) -> bool:
        """Return whether we must request the token count of a stream, because the program did not."""
        asked = passage.asked
        return (
            self._counts_streams
            and asked.call.streamed
            and passage.api.path == "/chat/completions"
            and part(asked.data.get("stream_options"), "include_usage") is None
        )

    def _body(self, passage: Passage, body: bytes, settings: Fields, *, counted: bool) -> bytes:
        """Return the body to send: the program's, with the run's model and settings."""
        asked = passage.asked
        fields = read_fields(body)
        if passage.recorder.role != JUDGE and not asked.scored:
            for name in passage.api.owned:
                fields.pop(name, None)
        put: Fields = {**settings, "model": self.upstream.model}
        if isinstance(effort := put.get("reasoning"), dict) and isinstance(asked.data.get("reasoning"), dict):
            put["reasoning"] = {**asked.data["reasoning"], **effort}
        passage.sent = put
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
        # Compression would delay pieces of a stream.
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
            # Otherwise the program would take a partial answer for a complete one.
            await reply.write(passage.api.error_event(broken))
        await reply.end()

    def _taken(self, passage: Passage, assembler: Assembler, event: bytes, added: bool) -> bool:
        """Process an event; return whether it is the usage that only we requested. The last event ends the record."""
        data = sse.data_of(event)
        if not data:
            return False
        assembler.feed(data)
        if assembler.complete:
            self._record_stream(passage, assembler)
        return added and _is_count(data)

    def _record_stream(self, passage: Passage, assembler: Assembler) -> str:
        """Record a stream that has ended; return its fault unless the stream itself reported one."""
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
        """Return the error that a stream reports, and its cause if the stream names a status."""
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
        if said is not None:
            usage = said.usage.charged(headers)
            said = said if usage is said.usage else replace(said, usage=usage)
        else:
            error = _words(passage, status, body)
            # Gateways put errors into a 200.
            named = status if status >= 300 else status_in(object_in(body).get("error"))
            if named >= 300:
                refused = self._refusal(passage, named, headers, body)
                error, cause = str(refused), refused.cause
        passage.record(said, status, error, cause)
        if cause is Cause.CONTEXT_OVERFLOW and self.upstream.protocol == "openai":
            body = _named(body, CODES[cause])
        final = {**passage.final, UNMEASURED: cause.value} if cause is Cause.VALUE_MISSING else passage.final
        await reply.send(status, body, {**_returned(headers), **final})

    def _refusal(self, passage: Passage, status: int, headers: Mapping[str, str], body: bytes) -> EpisodeError:
        scored = passage.asked.scored
        limit = NOTHING_WRITTEN if scored else self._settings.max_tokens
        error = self._model.refusal(passage.api.path, status, headers, body, limit)
        if scored and error.cause is Cause.CONTEXT_OVERFLOW:
            # Nothing was asked of the model that it could have done better: there is just no number.
            return EpisodeError(Cause.VALUE_MISSING, f"the text is too long for the model to rate it: {error}")
        return error

    async def _failed(self, passage: Passage, assembler: Assembler, error: HttpError, reply: ProxyReply) -> None:
        message = _error_text(error)
        # An error after the end of the answer lost nothing of it.
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
        await reply.send(status, _encode(api.error(status, _error_text(error))), {**JSON, **more})

    def _safe(self, body: bytes) -> bytes:
        """Return `body` with our key redacted; some servers repeat it in their errors."""
        key = self.upstream.key
        return body.replace(key.encode(), b"[key]") if len(key) > 4 else body


def _named(body: bytes, code: str) -> bytes:
    """Return the body of an error with the code that clients know, unless the server itself has given it a name.

    Clients end a conversation that is too long by that code alone. Gateways and local servers tell it in other words.
    """
    fields = object_in(body)
    error = fields.get("error")
    if not isinstance(error, dict):
        return body
    own = error.get("code")
    if isinstance(own, str) and own and not own.isdecimal():
        return body
    return _encode({**fields, "error": {**error, "code": code}})


def _estimate(asked: Asked, reply: ModelReply) -> Usage:
    """Return the usage of a call, estimated from the length of its texts."""
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


def _error_text(error: HttpError) -> str:
    return f"the model server did not answer: {error.url}: {error.cause}"


def _returned(headers: Mapping[str, str]) -> dict[str, str]:
    found = {name: value for name, value in headers.items() if _RETURNED.fullmatch(name)}
    return found if "content-type" in found else {**found, **JSON}


def _read(api: Api, body: bytes) -> ModelReply | None:
    data = object_in(body)
    return api.read_answer(data) if data else None


def _is_count(data: bytes) -> bool:
    """Return whether a chunk holds only the token count."""
    if b'"usage"' not in data:
        return False
    chunk = object_in(data)
    return chunk.get("choices") == [] and bool(chunk.get("usage"))
