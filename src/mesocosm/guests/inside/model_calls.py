"""Calls of a guest to its model: JSON over HTTP, on connections that are kept."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from . import Failed

_HEAD_BYTES = 64 * 1024
_CAUSE = "x-mesocosm-cause"
"""Header with which the proxy names the cause of a failure that is not the program's."""


@dataclass(frozen=True)
class ModelAddress:
    """Where one episode reaches its model: the address of its proxy up to `/v1`, its token, and the model's name."""

    base_url: str
    key: str = field(repr=False)
    model: str


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used: bool = False


@dataclass(frozen=True)
class _Response:
    """A response; `kept` if its connection can be used again."""

    status: int
    body: bytes
    cause: str
    kept: bool = False


class ModelCalls:
    """A client of the proxy. A call that is cancelled closes its connection, so that the proxy ends it, too.

    The proxy retries what may be retried, and limits the time: a failure that arrives here is final.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[_Connection]] = defaultdict(list)

    async def post(self, address: ModelAddress, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a POST at `path`.

        Raises Failed: the cause that the proxy names, otherwise program_failed (the engine knows why the model failed).
        """
        place = urlsplit(address.base_url)
        content = json.dumps({"model": address.model, **body}, ensure_ascii=False).encode("utf-8", "backslashreplace")
        head = (
            f"POST {place.path}{path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {address.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            found = await self._exchange(place.hostname or "", place.port or 80, head.encode() + content)
        except (OSError, EOFError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Failed(f"the model proxy did not answer {path}: {error}", "program_failed") from error
        if found.status != 200:
            words = f"{path} was answered with {found.status}: {_words(found.body)}"
            raise Failed(words, found.cause or "program_failed")
        try:
            answer = json.loads(found.body)
        except ValueError as error:
            raise Failed(f"{path} was not answered in JSON: {error}", "program_failed") from error
        if not isinstance(answer, dict):
            raise Failed(f"{path} was answered with {found.body[:80]!r}", "program_failed")
        return answer

    async def _exchange(self, host: str, port: int, request: bytes) -> _Response:
        name = f"{host}:{port}"
        while True:
            connection = await self._connected(name, host, port)
            done = False
            try:
                connection.writer.write(request)
                head = await connection.reader.readuntil(b"\r\n\r\n")
                found = await _read(connection.reader, head)
                done = found.kept
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                # The other side may close an idle connection at any time; then it has read nothing of the request.
                if not connection.used or (isinstance(error, asyncio.IncompleteReadError) and error.partial):
                    raise
            else:
                return found
            finally:
                if done:
                    connection.used = True
                    self._idle[name].append(connection)
                else:
                    connection.writer.close()

    async def _connected(self, name: str, host: str, port: int) -> _Connection:
        while idle := self._idle[name]:
            connection = idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection
            connection.writer.close()
        return _Connection(*await asyncio.open_connection(host, port, limit=_HEAD_BYTES))


async def _read(reader: asyncio.StreamReader, head: bytes) -> _Response:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status, cause = int(first.split(" ", 2)[1]), headers.get(_CAUSE, "")
    kept = headers.get("connection", "").lower() != "close"
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return _Response(status, b"".join(pieces), cause, kept)
    length = headers.get("content-length")
    if length is None:
        return _Response(status, await reader.read(), cause)
    return _Response(status, await reader.readexactly(int(length)), cause, kept)


def _words(answer: bytes) -> str:
    """Return the message of an error."""
    try:
        error = json.loads(answer)["error"]
        return str(error["message"] if isinstance(error, dict) else error)[:1000]
    except (ValueError, LookupError, TypeError):
        return answer[:1000].decode("utf-8", "replace")
