"""Clients that rows make or are given, in worker processes and in this process, against a model server on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.executor import ModelAccess, RolloutExecutor, RowJob
from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.testing.model_server import ModelServer

ROWS = 40
MAIN = """
import asyncio, ssl
from mesocosm.rollouts import AgentWorkflow, get_rollout_context
from openai import AsyncOpenAI

class Player(AgentWorkflow):
    async def run(self, ctx):
        kind, _, number = ctx.prompt[-1]["content"].partition(" ")
        said = await getattr(self, kind)(ctx)
        return [*ctx.prompt, {"role": "assistant", "content": said}]

    async def ask(self, client, ctx):
        reply = await client.chat.completions.create(model="any", messages=ctx.prompt)
        return reply.choices[0].message.content

    async def own(self, ctx):
        at = get_rollout_context()
        return await self.ask(AsyncOpenAI(base_url=at.chat_completions_url, api_key=at.api_key), ctx)

    async def ready(self, ctx):
        return await self.ask(get_rollout_context().openai(), ctx)

    async def blocking(self, ctx):
        client = get_rollout_context().sync_openai()
        reply = await asyncio.to_thread(client.chat.completions.create, model="any", messages=ctx.prompt)
        return reply.choices[0].message.content

    async def loop(self, ctx):
        client = get_rollout_context().openai()
        return await asyncio.to_thread(asyncio.run, self.ask(client, ctx))

    async def context(self, ctx):
        return type(ssl.create_default_context()).__name__
"""


@pytest.fixture(params=["processes", "in process"])
async def executor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RolloutExecutor]:
    folder = tmp_path / "rollout"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    place: RolloutExecutor = (
        ProcessExecutor(folder, "main.py", environment={}, installs=tmp_path / "installs")
        if request.param == "processes"
        else InProcessExecutor(folder, "main.py")
    )
    await place.open(lambda _: None)
    yield place
    await place.close()


def job(text: str, url: str, key: str, folder: Path) -> RowJob:
    return RowJob(
        id=f"row-{text}",
        prompt=[{"role": "user", "content": text}],
        label=None,
        metadata=None,
        row=0,
        trial=1,
        seed=1,
        model=ModelAccess(url, key, "m"),
        judge=None,
        artifacts=folder / "artifacts",
        workflow_seconds=60.0,
        grader_seconds=60.0,
    )


async def said(executor: RolloutExecutor, row: RowJob) -> str:
    ended = await executor.run(row, lambda *_: None)
    assert ended.sample is not None, ended
    return str(ended.sample.messages[-1]["content"])


def last(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


@pytest.mark.parametrize("kind", ["own", "ready", "blocking", "loop"])
async def test_rows_at_once_get_their_own_answers_with_their_own_keys(
    executor: RolloutExecutor, kind: str, tmp_path: Path
) -> None:
    async with ModelServer(last) as server:
        rows = [job(f"{kind} {number}", server.openai_url, f"key-{number}", tmp_path) for number in range(ROWS)]
        answers = await asyncio.gather(*(said(executor, row) for row in rows))
    assert answers == [f"{kind} {number}" for number in range(ROWS)]
    assert len(server.calls) == ROWS
    for call in server.calls:
        assert call.header("authorization") == f"Bearer key-{last(call.body).partition(' ')[2]}"


async def test_certificates_of_rows_are_late(executor: RolloutExecutor, tmp_path: Path) -> None:
    row = job("context", "http://127.0.0.1:9/v1", "key", tmp_path)
    assert await said(executor, row) == "_PendingContext"
    if isinstance(executor, InProcessExecutor):
        await executor.close()
        assert type(ssl.create_default_context()) is ssl.SSLContext
