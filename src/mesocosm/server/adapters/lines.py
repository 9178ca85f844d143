"""One HTTP client for many enclosed servers: the port in a URL says which socket leads there."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from mesocosm.environments.benchmark import IDLE_S, MAX_ANSWER
from mesocosm.http.client import Client
from mesocosm.http.errors import ConnectFailed
from mesocosm.http.pool import OwnConnection
from mesocosm.http.response import Response


class Lines(Client):
    """Sends requests to enclosed servers. Every server has a port that no other of this client has."""

    def __init__(self) -> None:
        super().__init__(idle_timeout=IDLE_S, max_response=MAX_ANSWER)
        self._lines: dict[int, Client] = {}

    def add(self, port: int, socket: Path) -> None:
        """Let `socket` lead to what listens at `port`."""
        self._lines[port] = Client(socket=socket, idle_timeout=IDLE_S, max_response=MAX_ANSWER)

    async def drop(self, port: int) -> None:
        """Forget a server that has ended."""
        line = self._lines.pop(port, None)
        if line is not None:
            await line.close()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- as in Client
        unix_socket: str | None = None,
        resend: bool = True,
        own: OwnConnection | None = None,
    ) -> Response:
        """Send one request to the server whose port the URL has. Raises HttpError."""
        del unix_socket
        line = self._lines.get(urlsplit(url).port or 0)
        if line is None:
            raise ConnectFailed(method, url, "the environment that listened there has ended")
        return await line.request(method, url, headers=headers, body=body, timeout=timeout, resend=resend, own=own)

    async def close(self) -> None:
        """Drop all connections."""
        for port in list(self._lines):
            await self.drop(port)
        await super().close()
