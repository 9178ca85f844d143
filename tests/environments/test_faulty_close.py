"""Adapters that fail after the last answer, behind uvicorn: it closes the connection then, and does not say so."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from fastapi import BackgroundTasks, FastAPI

from mesocosm.core.failure import EpisodeError
from mesocosm.environments.client import HttpEnvironment
from mesocosm.http.client import HttpClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEP = {"observation": {"data": 1}, "reward": 1.0, "terminated": False, "truncated": False, "info": {}}


class Found:
    """A server of which nothing is known."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stderr(self) -> str:
        return ""

    async def exited(self) -> str:
        return ""


def adapter() -> FastAPI:
    app = FastAPI()

    @app.post("/reset")
    async def reset(body: dict[str, Any]) -> dict[str, Any]:
        return {"data": 0}

    @app.post("/step")
    async def step(body: dict[str, Any]) -> dict[str, Any]:
        # Others get their turn, so that many calls are open at once.
        await asyncio.sleep(0)
        return STEP

    return app


def raises(app: FastAPI) -> None:
    @app.post("/close")
    async def close(body: dict[str, Any]) -> None:
        raise ValueError("cannot close")


def fails_afterwards(app: FastAPI) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("cannot close")

    @app.post("/close")
    async def close(body: dict[str, Any], tasks: BackgroundTasks) -> None:
        tasks.add_task(fail)


def has_none(app: FastAPI) -> None:
    """There is no such route: 404."""


async def played(url: str, client: HttpClient, index: int) -> str:
    """Return what became of an episode."""
    environment = HttpEnvironment(client, Found(url), f"episode-{index}", index)
    try:
        await environment.reset()
        for _ in range(3):
            await environment.step("go")
    except EpisodeError as error:
        return str(error)
    finally:
        await environment.close()
    return "played"


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve in a thread of its own: on the client's loop an answer and the end after it would come as one."""
    config = uvicorn.Config(app, log_config=None, lifespan="off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve(listening: socket.socket) -> None:
        stop = asyncio.Event()
        await server.startup(sockets=[listening])
        ready.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()
        await server.shutdown(sockets=[listening])

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        serving = threads.submit(asyncio.run, serve(listening))
        loop, stop = ready.result()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            loop.call_soon_threadsafe(stop.set)
            serving.result()


@pytest.mark.parametrize("closing", [raises, fails_afterwards, has_none])
async def test_an_episode_whose_close_fails_costs_no_other_one_anything(closing: Callable[[FastAPI], None]) -> None:
    app = adapter()
    closing(app)
    at_once = asyncio.Semaphore(16)

    async def one(index: int) -> str:
        async with at_once:
            return await played(url, client, index)

    with served(app) as url:
        async with HttpClient() as client:
            became = await asyncio.gather(*(one(index) for index in range(100)))
    assert became == ["played"] * 100
