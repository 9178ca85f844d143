"""An MCP server behind a URL: each message is a POST, its answer a JSON document or a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from mesocosm.core.redact import Redactor
from mesocosm.http import sse
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed, HttpError, InvalidRequest, ResponseTooLarge, Timeout
from mesocosm.mcp import message
from mesocosm.mcp.address import ServerAddress, expanded
from mesocosm.mcp.connection import MessageReader, named, reply_to
from mesocosm.mcp.errors import (
    AccessRefused,
    McpError,
    ProtocolBroken,
    ServerAway,
    ServerEnded,
    ServerSilent,
    ServerUnreachable,
    SessionLost,
)
from mesocosm.mcp.message import MOST_BYTES, RpcMessage

if TYPE_CHECKING:
    from mesocosm.http.transport import StreamedResponse

CONNECT_S = 10.0
LEAVE_S = 2.0
"""Seconds for the server to take note of the end of a session."""
_AWAY = frozenset({502, 503})
"""Statuses of a proxy whose server does not answer, and of a server that is not ready."""
_LONGEST_SAID = 300


class HttpConnection:
    """A session with a server. Implements mesocosm.mcp.connection.McpConnection.

    Nothing is sent before the first request. Making one raises UsageError for a variable that is not set.
    """

    def __init__(self, address: ServerAddress, environment: Mapping[str, str]) -> None:
        self.version = ""
        self._url = expanded(address.server, environment)
        self._own = {name: expanded(value, environment) for name, value in address.headers.items()}
        self._reader = MessageReader(address.shown, Redactor(address.secrets(environment)))
        self._client = HttpClient(connect_timeout=CONNECT_S, max_response=MOST_BYTES)
        self._session = ""
        self._numbers = count(1)

    async def request(self, method: str, params: Mapping[str, Any] | None, seconds: float) -> Any:
        """Send a request and return its result. Raises McpError."""
        number = next(self._numbers)
        try:
            async with asyncio.timeout(seconds):
                answer = await self._asked(number, method, params, seconds)
        except TimeoutError as error:
            if method != "initialize":
                with suppress(McpError):
                    await self.notify("notifications/cancelled", {"requestId": number, "reason": "timeout"})
            said = f"did not answer {named(method, params)} within {seconds:g} s"
            raise ServerSilent(self._reader.shown, said) from error
        return self._reader.result(answer, method)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification. Raises McpError."""
        await self._post(message.notification(method, params), method)

    async def close(self) -> None:
        """End the session; never raise."""
        try:
            if self._session:
                with suppress(HttpError):
                    await self._client.request("DELETE", self._url, headers=self._headers(), timeout=LEAVE_S)
        finally:
            await self._client.close()

    async def _asked(self, number: int, method: str, params: Mapping[str, Any] | None, seconds: float) -> RpcMessage:
        body = message.request(number, method, params)
        try:
            # A tool that was called twice may have done its work twice.
            async with self._client.stream(
                "POST",
                self._url,
                headers=self._headers(),
                body=body,
                timeout=seconds + 1,
                resend=method != "tools/call",
            ) as response:
                if response.status != 200:
                    raise await self._refusal(response, method)
                self._session = response.headers.get("mcp-session-id", self._session)
                async for one in self._messages(response):
                    if one.method is None and one.id == number:
                        return one
                    if one.method is None and one.id is None and one.error is not None:
                        # An error of the whole request, as servers send it that could not read its id.
                        return one
                    if one.method is not None and one.id is not None:
                        await self._post(reply_to(one), one.method)
        except HttpError as error:
            raise self._lost(error, named(method, params)) from error
        raise ServerEnded(self._reader.shown, f"ended its stream before it answered {named(method, params)}")

    async def _messages(self, response: "StreamedResponse") -> AsyncIterator[RpcMessage]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            for one in self._reader.messages((await response.read()).body):
                yield one
            return
        if kind != "text/event-stream":
            raise ProtocolBroken(
                self._reader.shown,
                f"answered with {kind or 'no content type'}; is this its MCP endpoint? Its path is often /mcp",
            )
        splitter = sse.Splitter()
        async for piece in response.pieces():
            for event in splitter.feed(piece):
                if data := sse.data_of(event).strip():
                    for one in self._reader.messages(data):
                        yield one

    async def _post(self, body: bytes, method: str) -> None:
        """Send a message that has no answer."""
        try:
            async with self._client.stream(
                "POST", self._url, headers=self._headers(), body=body, timeout=CONNECT_S
            ) as response:
                if response.status not in {200, 202, 204}:
                    raise await self._refusal(response, method)
        except HttpError as error:
            raise self._lost(error, method) from error

    def _headers(self) -> dict[str, str]:
        found = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self._own}
        if self._session:
            found["Mcp-Session-Id"] = self._session
        if self.version:
            found["MCP-Protocol-Version"] = self.version
        return found

    async def _refusal(self, response: "StreamedResponse", method: str) -> McpError:
        """Return the error for a response with another status than 200."""
        status, shown = response.status, self._reader.shown
        if status in {401, 403}:
            sent = f"the header {' and '.join(self._own)}" if self._own else "no credential"
            return AccessRefused(
                shown, f"refuses access (status {status}) with {sent}; pass one with --mcp-header NAME='$VARIABLE'"
            )
        if status in {301, 302, 307, 308}:
            return ServerUnreachable(
                shown, f"redirects (status {status}); name the URL that it redirects to, perhaps with a / at the end"
            )
        body = self._reader.text((await response.read()).body.decode(errors="replace"))
        with suppress(ProtocolBroken):
            for one in self._reader.messages(body):
                if one.error is not None and one.error.message:
                    body = one.error.message
        said = " ".join(body.split())[:_LONGEST_SAID]
        # 404 is what the protocol says; some servers say that the request is bad.
        if self._session and (status == 404 or (status == 400 and "session" in body.lower())):
            return SessionLost(shown, f"has ended the session (status {status} to {method})")
        kind = ServerAway if status in _AWAY else ServerUnreachable
        return kind(shown, f"answers {method} with status {status}{f': {said}' if said else ''}")

    def _lost(self, error: HttpError, method: str) -> McpError:
        shown = self._reader.shown
        if isinstance(error, ResponseTooLarge):
            return ProtocolBroken(shown, f"sent a message of more than {MOST_BYTES:,} bytes")
        if isinstance(error, ConnectFailed | InvalidRequest):
            kind = ServerAway if isinstance(error, ConnectFailed) else ServerUnreachable
            return kind(shown, f"cannot be reached: {self._reader.text(error.cause)}")
        if isinstance(error, Timeout):
            return ServerSilent(shown, f"did not answer {method}: {error.cause}")
        return ServerEnded(shown, f"broke off the connection during {method}: {self._reader.text(error.cause)}")
