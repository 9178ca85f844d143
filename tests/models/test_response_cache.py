"""The response cache: what was answered is not asked again."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import EpisodeError, InfrastructureError
from mesocosm.core.message import Message
from mesocosm.core.model import EpisodeView, ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Model
from mesocosm.models.cache import FILE, CachedModel
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import SERVER_ERROR
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "answers.sqlite")


async def test_a_repeated_request_is_answered_from_the_file(opened: Opened, hello: ModelRequest, file: str) -> None:
    answer = ScriptedAnswer("hi", "hm", (("look", {"far": True}),), "length", 10, 5)
    async with ModelServer(answer) as server:
        name = f"openai/m@{server.openai_url}"
        first = await opened(name, cache=file).ask(hello)
        again = await opened(name, cache=file).ask(hello)
    assert server.served == 1
    assert not first.cached
    assert again.cached
    assert replace(again, cached=False, latency_s=0.0) == replace(first, latency_s=0.0)


async def test_a_cached_answer_keeps_its_tokens_and_costs_nothing(
    opened: Opened, hello: ModelRequest, file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai/m": {"input": 1000000, "output": 0, "as_of": "2026-01-01"}}')
    monkeypatch.setenv("MESOCOSM_PRICES", str(prices))
    async with ModelServer(ScriptedAnswer("hi", prompt_tokens=10)) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        first, again = [await model.ask(hello) for _ in range(2)]
    assert (first.usage.cost_usd, again.usage.cost_usd) == (10.0, 0.0)
    assert first.usage.prompt == again.usage.prompt == 10
    assert again.usage.calls == 1


CHANGES: list[dict[str, Any]] = [
    {"messages": [Message("user", "other")]},
    {"messages": [Message("system", "hello")]},
    {"temperature": 0.5},
    {"max_tokens": 1},
    {"top_p": 0.5},
    {"schema": {"type": "object"}},
    {"tools": [Tool("look")]},
    {"extra": {"seed": 1}},
    {"trial": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
async def test_everything_that_is_sent_makes_another_request(
    opened: Opened, hello: ModelRequest, file: str, change: dict[str, Any]
) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        await model.ask(hello)
        assert not (await model.ask(replace(hello, **change))).cached
        assert (await model.ask(replace(hello, **change))).cached


async def test_model_settings_and_address_make_another_request(opened: Opened, hello: ModelRequest, file: str) -> None:
    async with ModelServer() as server, ModelServer() as elsewhere:
        await opened(f"openai/m@{server.openai_url}", cache=file).ask(hello)
        for name, extra in (
            (f"openai/n@{server.openai_url}", {}),
            (f"openai/m@{elsewhere.openai_url}", {}),
            (f"openai/m@{server.openai_url}", {"seed": 1}),
        ):
            assert not (await opened(name, cache=file, extra=extra).ask(hello)).cached


async def test_an_address_from_the_environment_counts_too(
    opened: Opened, hello: ModelRequest, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer() as server, ModelServer() as elsewhere:
        for url in (server.openai_url, elsewhere.openai_url):
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            assert not (await opened("openai/m", cache=file).ask(hello)).cached


async def test_timeouts_and_the_place_in_the_episode_do_not_count(
    opened: Opened, hello: ModelRequest, file: str
) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        await model.ask(hello)
        assert (await model.ask(replace(hello, timeout_s=99.0, view=EpisodeView(1, "t", 0, 3)))).cached


async def test_errors_are_not_kept(opened: Opened, hello: ModelRequest, file: str) -> None:
    async with ModelServer(faults=[SERVER_ERROR]) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        with pytest.raises(EpisodeError):
            await model.ask(hello)
        assert not (await model.ask(hello)).cached
    assert server.served == 2


class Gate:
    """A server whose answers wait."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, _body: dict[str, Any]) -> str:
        self.arrived.set()
        await self.open.wait()
        return "late"


async def test_equal_requests_under_way_are_one_call(opened: Opened, hello: ModelRequest, file: str) -> None:
    gate = Gate()
    async with ModelServer(gate) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        calls = [asyncio.create_task(model.ask(hello)) for _ in range(5)]
        await gate.arrived.wait()
        gate.open.set()
        replies = await asyncio.gather(*calls)
    assert server.served == 1
    assert [reply.text for reply in replies] == ["late"] * 5
    assert [reply.cached for reply in replies] == [False, True, True, True, True]


async def test_whoever_is_cancelled_takes_nobody_along(opened: Opened, hello: ModelRequest, file: str) -> None:
    gate = Gate()
    async with ModelServer(gate) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        first, second = [asyncio.create_task(model.ask(hello)) for _ in range(2)]
        await gate.arrived.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.open.set()
        assert (await second).text == "late"
    assert server.served == 1


async def test_a_call_that_nobody_waits_for_is_given_up(opened: Opened, hello: ModelRequest, file: str) -> None:
    gate = Gate()
    async with ModelServer(gate) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        call = asyncio.create_task(model.ask(hello))
        await gate.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        gate.open.set()
        assert not (await model.ask(hello)).cached
    assert server.served == 2


async def test_a_failure_reaches_everybody_who_waits(opened: Opened, hello: ModelRequest, file: str) -> None:
    async with ModelServer(faults=[SERVER_ERROR]) as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        outcomes = await asyncio.gather(*(model.ask(hello) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(outcome, EpisodeError) for outcome in outcomes)
    assert server.served == 1


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_directory_gets_a_file_of_its_own(
    opened: Opened, hello: ModelRequest, tmp_path: Path, slash: str
) -> None:
    folder = tmp_path / "cache"
    if not slash:
        folder.mkdir()
    async with ModelServer() as server:
        await opened(f"openai/m@{server.openai_url}", cache=f"{folder}{slash}").ask(hello)
    assert (folder / FILE).is_file()


async def test_two_processes_may_write_at_once(opened: Opened, hello: ModelRequest, file: str) -> None:
    program = (
        "import asyncio, sys\n"
        "from mesocosm.core.message import Message\n"
        "from mesocosm.core.model import ModelRequest, ModelSettings\n"
        "from mesocosm.models.catalogue import open_model\n"
        "async def main():\n"
        "    model = open_model(ModelSettings(sys.argv[1], cache=sys.argv[2]))\n"
        "    asks = [model.ask(ModelRequest([Message('user', str(n))])) for n in range(200)]\n"
        "    print(sum(reply.text == 'ok' for reply in await asyncio.gather(*asks)))\n"
        "    await model.close()\n"
        "asyncio.run(main())\n"
    )
    async with ModelServer() as server:
        name = f"openai/m@{server.openai_url}"
        command = [sys.executable, "-c", program, name, file]
        processes = [
            await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        outputs = [await process.communicate() for process in processes]
        assert outputs == [(b"200\n", b"")] * 2
        model = opened(name, cache=file)
        assert all([(await model.ask(ModelRequest([Message("user", str(n))]))).cached for n in range(200)])


def test_a_file_that_is_no_database_is_left_alone_and_named(tmp_path: Path, opened: Opened) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("these are my notes, not a cache; " * 100)
    with pytest.raises(InfrastructureError, match=r"notes\.txt cannot be used"):
        opened("openai/m@http://127.0.0.1:1/v1", cache=str(file))
    assert file.read_text().startswith("these are my notes")


async def test_a_cache_that_breaks_during_a_run_is_left_out_and_that_is_said_once(
    opened: Opened, hello: ModelRequest, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        with sqlite3.connect(file) as other:
            other.execute("DROP TABLE responses")
        other.close()
        replies = [await model.ask(hello) for _ in range(2)]
    assert [reply.text for reply in replies] == ["ok", "ok"]
    assert len(caplog.records) == 1
    assert "is not used" in caplog.text


async def test_an_entry_that_cannot_be_read_is_asked_for_again(opened: Opened, hello: ModelRequest, file: str) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        await model.ask(hello)
        with sqlite3.connect(file) as other:
            other.execute("UPDATE responses SET reply = ?", (b"broken",))
        other.close()
        assert not (await model.ask(hello)).cached
        assert (await model.ask(hello)).cached


def test_models_inside_this_process_are_not_cached(opened: Opened, file: str) -> None:
    model = opened("builtin/random", cache=file)
    assert not isinstance(model, CachedModel)
    assert not Path(file).exists()


async def test_check_and_capabilities_are_those_of_the_model(opened: Opened, file: str) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/m@{server.openai_url}", cache=file)
        await model.check()
    assert [request.path for request in server.requests] == ["/v1/models"]
    assert model.capabilities.local
    assert ModelSettings("openai/m", cache=file).cache == file
