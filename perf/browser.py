"""A connection as a browser keeps it: open between requests, with answers packed by gzip."""

import asyncio
import gzip


class Connection:
    """One connection to a server on loopback, opened with the first request. Belongs to one task at a time."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Return status and body of an answer. Raises OSError and EOFError."""
        reader, writer = await self._opened()
        writer.write(self._request(method, path, body))
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").casefold()
        fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
        content = await reader.readexactly(int(fields.get("content-length", "0")))
        status = int(head.split(" ", 2)[1])
        return status, gzip.decompress(content) if fields.get("content-encoding") == "gzip" else content

    async def stream(self, path: str) -> tuple[int, asyncio.StreamReader]:
        """Return the status of an answer that does not end, and the rest of it."""
        reader, writer = await self._opened()
        writer.write(self._request("GET", path, b""))
        return int((await reader.readuntil(b"\r\n\r\n"))[9:12]), reader

    def close(self) -> None:
        """Close it."""
        if self._pipe is not None:
            self._pipe[1].close()

    async def _opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._pipe is None:
            self._pipe = await asyncio.open_connection("127.0.0.1", self._port)
        return self._pipe

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
        head += "Accept-Encoding: gzip\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body
