"""WebSocket connections over which one caller asks and the server answers, one message at a time.

aiohttp is imported here, so import this module where it is used.
"""

import asyncio
import os
from collections import deque
from typing import Any

import aiohttp
from aiohttp.resolver import ThreadedResolver

from mesocosm.http.errors import BadResponse, ConnectionLost, HttpError, ResponseTooLarge, Timeout
from mesocosm.http.proxy import Proxies
from mesocosm.http.target import target
from mesocosm.http.transport import RequestAttempt, failure, trusted

METHOD = "WS"
"""The method in errors, as GET and POST are in those of requests."""
CLOSE_S = 5.0
"""Seconds to wait for the server to close its side."""
_TOO_BIG = 1009


class WebSocketClient:
    """Opens WebSocket connections; use it within one event loop, and close it there.

    A message of more than `max_message` bytes is an error. Proxies come from the environment.
    """

    def __init__(self, *, connect_timeout: float = 10.0, max_message: int = 16 * 1024 * 1024) -> None:
        self._connect_timeout = connect_timeout
        self._max_message = max_message
        self._proxies = Proxies()
        self._session: aiohttp.ClientSession | None = None

    async def connect(self, url: str) -> "WebSocketConnection":
        """Connect to `url`, which begins with http:// or https://. Raises HttpError.

        A server that answers but does not switch to the protocol is BadResponse, with its status.
        """
        place = target(url)
        call = RequestAttempt(METHOD, place, {}, None, self._connect_timeout, None, repeatable=False)
        try:
            call.proxy = self._proxies.proxy(place.origin)
            async with asyncio.timeout(self._connect_timeout):
                socket = await self._opened().ws_connect(
                    place.url,
                    proxy=call.proxy,
                    headers={"Authorization": place.authorization} if place.authorization else None,
                    max_msg_size=self._max_message,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
                )
        except TimeoutError as error:
            raise Timeout(*call.name, "connect", self._connect_timeout) from error
        except aiohttp.WSServerHandshakeError as error:
            raise BadResponse(*call.name, f"status {error.status} instead of a WebSocket") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise failure(error, call) from error
        return WebSocketConnection(socket, call.name, self._max_message)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                ssl=trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
                resolver=ThreadedResolver(),
                use_dns_cache=False,
            )
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "mesocosm"}
            )
        return self._session

    async def close(self) -> None:
        """Drop all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


class WebSocketConnection:
    """One connection. It is read all the time, because servers close connections that do not answer their pings.

    A model may think for minutes between two messages. After a timeout or an error the connection cannot be used again:
    a late answer would be taken for that of the next question.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, name: tuple[str, str], max_message: int) -> None:
        self._socket = socket
        self._name = name
        self._max_message = max_message
        self._received: deque[str] = deque()
        self._ended: HttpError | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._reader = asyncio.create_task(self._read())

    @property
    def usable(self) -> bool:
        """Whether another question can be asked, as far as is known."""
        return self._ended is None

    async def ask(self, message: str, seconds: float) -> str:
        """Send a text and return the next one from the server.

        A text that the server sent before it closed the connection is returned even if `message` no longer reaches it.
        Raises ConnectionLost, Timeout, ResponseTooLarge, BadResponse.
        """
        if self._ended is None:
            try:
                await self._socket.send_str(message)
            except (aiohttp.ClientError, OSError) as error:
                # The reader may still have to take what the server sent before.
                await self._reader
                self._ended = self._ended or ConnectionLost(*self._name, f"the connection broke ({error})")
        return await self._next(seconds)

    async def close(self, farewell: str = "", seconds: float = CLOSE_S) -> None:
        """Send `farewell` and wait until the server closes the connection, at most for `seconds`; never raise."""
        try:
            if self._ended is None and farewell:
                await self._socket.send_str(farewell)
                await asyncio.wait([self._reader], timeout=seconds)
            if self._ended is None:
                self._reader.cancel()
            async with asyncio.timeout(seconds):
                await self._socket.close()
        except (aiohttp.ClientError, OSError, TimeoutError):
            return
        finally:
            self._reader.cancel()
            self._ended = self._ended or ConnectionLost(*self._name, "the connection was closed")

    async def _next(self, seconds: float) -> str:
        if not self._received and self._ended is None:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(seconds):
                    await self._waiting
            except TimeoutError as error:
                self._ended = Timeout(*self._name, "response", seconds)
                raise self._ended from error
            finally:
                self._waiting = None
        if self._received:
            return self._received.popleft()
        assert self._ended is not None
        raise self._ended

    async def _read(self) -> None:
        while self._ended is None:
            message = await self._socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                self._received.append(message.data)
            else:
                self._ended = self._ended or self._end(message)
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(None)

    def _end(self, message: aiohttp.WSMessage) -> HttpError:
        given: Any = message.data
        if message.type is aiohttp.WSMsgType.BINARY:
            return BadResponse(*self._name, "the server sent bytes where a text is expected")
        if message.type is aiohttp.WSMsgType.ERROR:
            if isinstance(given, aiohttp.WebSocketError) and given.code == _TOO_BIG:
                return ResponseTooLarge(*self._name, self._max_message)
            if isinstance(given, aiohttp.WebSocketError):
                return BadResponse(*self._name, f"the server broke the protocol ({given})")
            return ConnectionLost(*self._name, f"the connection broke ({given})")
        code = self._socket.close_code
        reason = f": {message.extra}" if message.extra else ""
        words = "" if code in {None, 1000, 1006} else f" (code {code}{reason})"
        return ConnectionLost(*self._name, f"the server closed the connection{words}")
