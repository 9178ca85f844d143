"""A server that fails after it has answered, tried with uvicorn."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn

from mesocosm.http import transport
from mesocosm.http.client import HttpClient, OwnConnection
from mesocosm.http.errors import HttpError


async def failing(scope: Any, receive: Any, send: Any) -> None:
    """Answer, and raise as a background task does."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})
    if scope["path"] == "/step":
        await asyncio.sleep(0.002)
        raise RuntimeError("the background task failed")


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """The address of uvicorn with that application."""
    server = uvicorn.Server(uvicorn.Config(failing, port=0, lifespan="off", log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 -- uvicorn has no event for it
        await asyncio.sleep(0.002)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


@pytest.mark.parametrize("parallel", [1, 8])
async def test_no_step_is_lost_when_what_follows_the_answers_fails(
    address: str, parallel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "PROVE_S", 0.2)
    lost: list[HttpError] = []

    async def episodes(client: HttpClient, number: int) -> None:
        for _ in range(number):
            own = OwnConnection()
            for path in ("/reset", "/step", "/step", "/step", "/close"):
                try:
                    await client.request("POST", address + path, body=b"{}", timeout=30, resend=False, own=own)
                except HttpError as error:
                    lost.append(error)
            await own.drop()

    async with HttpClient() as client:
        await asyncio.gather(*(episodes(client, 40 // parallel) for _ in range(parallel)))
    assert lost == []
