"""The server of a run: found, started, lost and started again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.environments.conftest import RUNS

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.environments import adapter as adapters
from mesocosm.environments import restarts
from mesocosm.environments.adapter import Adapter, AdapterSettings
from mesocosm.environments.client import HttpEnvironment
from mesocosm.environments.manifest import content_files, load_manifest, watched_content
from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

Repository = Callable[..., Path]
Open = Callable[..., Any]


class ByHand(LoopbackServer):
    """A server that somebody started by hand; `health` is what it says of itself."""

    def __init__(self, health: Any = None, status: int = 200) -> None:
        super().__init__()
        self.health = msgspec.json.encode(health or {"status": "ok"})
        self.status = status

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.path == "/health":
            connection.send(response(self.status, self.health))
        else:
            connection.send(response(200, b'{"data": "by hand"}'))


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient(connect_timeout=1.0) as client:
        yield client


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
async def opened(client: HttpClient, notices: list[str]) -> AsyncIterator[Open]:
    """Return a function that opens an adapter; all are closed at the end."""
    everything: list[Adapter] = []

    async def open_adapter(
        directory: Path, env_url: str = "", *, explicit: bool = True, content: Content | None = None
    ) -> Adapter:
        adapter = Adapter(load_manifest(directory), AdapterSettings(env_url, explicit), client, PlainSandbox(), content)
        everything.append(adapter)
        await adapter.open(notices.append)
        return adapter

    yield open_adapter
    for adapter in everything:
        await adapter.close()


@pytest.fixture
def vanished() -> str:
    """The URL of a port where nobody listens."""
    with ByHand() as server:
        return server.url


async def episode(client: HttpClient, adapter: Adapter) -> tuple[HttpEnvironment, Any]:
    """Start an episode and return it with what it shows first."""
    environment = HttpEnvironment(client, await adapter.host(), "e", 1)
    return environment, (await environment.reset()).data


async def crash(client: HttpClient, adapter: Adapter) -> EpisodeError:
    environment, _ = await episode(client, adapter)
    with pytest.raises(EpisodeError) as caught:
        await environment.step("crash")
    return caught.value


async def test_a_server_that_answers_is_used_and_named(
    repository: Repository, client: HttpClient, opened: Open, notices: list[str]
) -> None:
    async with ByHand({"status": "ok", "env": "Counting"}) as server:
        adapter = await opened(repository(), server.url + "/")
        assert (await episode(client, adapter))[1] == "by hand"
        await adapter.close()
        assert (await client.request("GET", f"{server.url}/health", timeout=60)).status == 200
    assert notices == [f"using the environment that answers at {server.url}: Counting"]


async def test_a_server_may_say_nothing_of_itself(repository: Repository, opened: Open, notices: list[str]) -> None:
    async with ByHand("fine") as server:
        await opened(repository(), server.url)
    assert "does not say which" in notices[0]


async def test_another_environment_at_the_named_url_is_an_error(
    repository: Repository, opened: Open, sdk_source: str
) -> None:
    async with ByHand({"env": "Chess"}) as server:
        with pytest.raises(UsageError, match=r"environment Chess answers at .* is about Counting"):
            await opened(repository(sdk_source), server.url)


async def test_another_environment_at_the_default_url_is_left_alone(
    repository: Repository, opened: Open, client: HttpClient, plain_source: str, notices: list[str]
) -> None:
    source = plain_source + "\nclass Counting: pass\ndef serve(x): main()\nserve(Counting)"
    async with ByHand({"env": "Chess"}) as server:
        adapter = await opened(repository(source), server.url, explicit=False)
        assert (await adapter.host()).url != server.url
    assert "environment Chess answers" in notices[0]
    assert notices[1].startswith("started adapter.py at ")


async def test_a_name_is_no_error_where_the_adapter_tells_none(repository: Repository, opened: Open) -> None:
    async with ByHand({"env": "Chess"}) as server:
        assert (await (await opened(repository(), server.url)).host()).url == server.url


async def test_the_adapter_is_started_where_nobody_answers(
    repository: Repository, opened: Open, client: HttpClient, vanished: str, notices: list[str]
) -> None:
    adapter = await opened(repository(), vanished)
    _, seen = await episode(client, adapter)
    assert seen["argv"][0] == "--port"
    assert vanished in notices[0]


async def test_nothing_is_said_of_the_default_url_where_nobody_answers(
    repository: Repository, opened: Open, vanished: str, notices: list[str]
) -> None:
    await opened(repository(), vanished, explicit=False)
    assert [notice.split()[0] for notice in notices] == ["started"]


async def test_a_server_that_is_not_healthy_is_not_used(repository: Repository, opened: Open) -> None:
    async with ByHand(status=503) as server:
        assert (await (await opened(repository(), server.url)).host()).url != server.url


async def test_a_named_server_on_another_machine_must_answer(
    repository: Repository, opened: Open, vanished: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "is_loopback", lambda url: False)
    with pytest.raises(UsageError, match=f"no environment answers GET {vanished}/health"):
        await opened(repository(), vanished)


async def test_a_server_says_whether_it_offers_an_oracle(repository: Repository, opened: Open) -> None:
    async with ByHand({"status": "ok", "oracle": True}) as server:
        assert (await opened(repository(), server.url)).oracle is True
    async with ByHand() as server:
        assert (await opened(repository(name="other"), server.url)).oracle is False


async def test_a_crash_fails_the_episode_and_the_next_one_gets_a_new_process(
    repository: Repository, opened: Open, client: HttpClient, notices: list[str]
) -> None:
    adapter = await opened(repository())
    _, before = await episode(client, adapter)
    error = await crash(client, adapter)
    assert error.cause is Cause.ENVIRONMENT_UNREACHABLE
    assert "adapter.py ended with exit code 3" in str(error)
    assert "the sky is falling" in error.stderr
    _, after = await episode(client, adapter)
    assert after["pid"] != before["pid"]
    assert "adapter.py ended with exit code 3; starting it again" in notices


def watched(directory: Path) -> Content:
    manifest = load_manifest(directory)
    return watched_content(manifest, content_files(manifest))


@pytest.mark.parametrize("edited", ["adapter.py", "benchanything.json"])
async def test_an_adapter_that_is_edited_is_not_started_again(
    repository: Repository, opened: Open, client: HttpClient, edited: str
) -> None:
    directory = repository()
    adapter = await opened(directory, content=watched(directory))
    file = directory / edited
    file.write_text(file.read_text().replace("argv", "words").replace('"max_steps": 9', '"max_steps": 8'))
    await crash(client, adapter)
    with pytest.raises(EpisodeError, match=f"^{edited} of environment env has changed since the run began") as caught:
        await adapter.host()
    assert caught.value.cause is Cause.CANCELLED


async def test_an_adapter_that_is_edited_while_it_starts_is_not_played(repository: Repository, opened: Open) -> None:
    directory = repository("open('helper.py', 'w').write('REWARD = 1.0')\n" + RUNS)
    with pytest.raises(EpisodeError, match=r"^helper\.py of environment env has changed since the run began"):
        await opened(directory, content=watched(directory))


async def test_episodes_that_ask_at_once_share_one_new_process(
    repository: Repository, opened: Open, client: HttpClient
) -> None:
    adapter = await opened(repository())
    await crash(client, adapter)
    hosts = await asyncio.gather(*(adapter.host() for _ in range(8)))
    assert len({host.url for host in hosts}) == 1


async def test_an_episode_that_has_not_begun_moves_to_the_new_process(
    repository: Repository, opened: Open, client: HttpClient
) -> None:
    adapter = await opened(repository())
    waiting = HttpEnvironment(client, await adapter.host(), "later", 2, renewed=adapter.host)
    begun, before = await episode(client, adapter)
    await crash(client, adapter)
    assert (await waiting.reset()).data["pid"] != before["pid"]
    with pytest.raises(EpisodeError, match="exit code 3"):
        await begun.step("up")


async def test_an_adapter_that_crashes_again_and_again_ends_the_run(
    repository: Repository, opened: Open, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST", 1)
    adapter = await opened(repository())
    await crash(client, adapter)
    await crash(client, adapter)
    with pytest.raises(RunAborted, match=r"exit code 3, 2 times within 60 s") as caught:
        await adapter.host()
    assert "the sky is falling" in str(caught.value)


async def test_crashes_long_ago_are_forgiven(
    repository: Repository, opened: Open, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST", 1)
    monkeypatch.setattr(restarts, "WINDOW_S", 0.0)
    adapter = await opened(repository())
    for _ in range(2):
        await crash(client, adapter)
        await adapter.host()


async def test_a_server_by_hand_that_is_gone_is_unreachable_until_somebody_starts_it(
    repository: Repository, opened: Open, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.environments.client.CONNECT_WAITS", (0.0,))
    async with ByHand() as server:
        adapter = await opened(repository(), server.url)
    with pytest.raises(EpisodeError):
        await episode(client, adapter)
    with pytest.raises(EpisodeError, match=r"/health with status 200; start the environment there again") as caught:
        await adapter.host()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_a_server_by_hand_may_be_started_again(
    repository: Repository, opened: Open, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.environments.client.CONNECT_WAITS", (0.0,))
    server = ByHand()
    async with server:
        adapter = await opened(repository(), server.url)
    with pytest.raises(EpisodeError):
        await episode(client, adapter)
    async with server:
        assert (await episode(client, adapter))[1] == "by hand"


async def test_what_an_adapter_prints_never_blocks_it(repository: Repository, opened: Open, client: HttpClient) -> None:
    environment, _ = await episode(client, await opened(repository()))
    step = await environment.step("flood")
    assert step.reward == 1.0


async def test_a_closed_adapter_gives_no_server(repository: Repository, opened: Open, client: HttpClient) -> None:
    adapter = await opened(repository())
    url = (await adapter.host()).url
    await adapter.close()
    with pytest.raises(RunAborted, match="closed"):
        await adapter.host()
    with pytest.raises(Exception, match="connect"):
        await client.request("GET", f"{url}/health", timeout=60)
