"""A model server that answers a few questions and from then on is away in one particular way."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SHAPES = {
    "no name": "cannot be resolved",
    "untrusted certificate": "is not trusted (self-signed certificate)",
    "no tls": "is it https?",
    "silent": "gave no answer within",
    "not http": "this is not an HTTP response",
}
"""Ways of being away, and what a run says about it."""

NAME = "model.test"


class TurningServer:
    """Answers `answers` completions with `text`, then is away in the way `shape`, until `heal`.

    The certificate of `pem` is trusted, the one of `wrong_pem` is not; `monkeypatch` makes names resolvable or not.
    """

    def __init__(self, shape: str, text: str, answers: int, pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.away = False
        self._shape = shape
        self._text = text
        self._left = float(answers)
        self._writers: set[asyncio.StreamWriter] = set()
        self._served: list[asyncio.Server] = []
        self._port = 0
        self._secure = shape in {"untrusted certificate", "no tls"}
        self._pem = pem
        if self._secure:
            monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        resolved = socket.getaddrinfo

        def resolve(host: Any, *rest: Any, **more: Any) -> Any:
            if host != NAME:
                return resolved(host, *rest, **more)
            if self.away:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return resolved("127.0.0.1", *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)

    @property
    def url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"http{'s' * self._secure}://{NAME if self._shape == 'no name' else '127.0.0.1'}:{self._port}/v1"

    async def start(self) -> None:
        """Listen."""
        await self._listen(self._trusted() if self._secure else None)

    async def heal(self) -> None:
        """Answer everything from now on."""
        self._left, self.away = float("inf"), False
        await self.close()
        await self.start()

    async def close(self) -> None:
        """Listen no more, and drop every connection."""
        for server in self._served:
            server.close()
        self._served.clear()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _listen(self, tls: ssl.SSLContext | None, serve: Callable[..., Any] | None = None) -> None:
        server = await asyncio.start_server(serve or self._serve, "127.0.0.1", self._port, ssl=tls)
        self._served.append(server)
        self._port = server.sockets[0].getsockname()[1]

    def _trusted(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pem)
        return context

    async def _turn(self) -> None:
        self.away = True
        if self._shape == "no name":
            await self.close()
        elif self._secure:
            await self.close()
            wrong = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            wrong.load_cert_chain(Path(__file__).with_name("untrusted.pem"))
            await self._listen(wrong if self._shape == "untrusted certificate" else None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self.away and self._shape == "no tls":
                await reader.read(1)
                writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                return
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1]
                _, found, length = head.lower().partition(b"content-length:")
                await reader.readexactly(int(length.split()[0]) if found else 0)
                if b"completions" in path:
                    self._left -= 1
                    if self._left < 0 and not self.away:
                        await self._turn()
                if self.away:
                    await self._misbehave(writer)
                    return
                writer.write(_response(_completion(self._text) if b"completions" in path else {"data": []}))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def _misbehave(self, writer: asyncio.StreamWriter) -> None:
        if self._shape == "silent":
            await asyncio.Event().wait()
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _response(document: dict[str, Any]) -> bytes:
    body = json.dumps(document).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
