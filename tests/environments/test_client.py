"""One episode over HTTP, against servers on loopback that behave well or badly."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tests.conftest import LoopClock

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.environments.contract import Contract
from mesocosm.http.client import HttpClient
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

STEP = {"observation": {"data": 1}, "reward": 0.5, "terminated": True, "truncated": False, "info": {"won": True}}
PATIENT = Timeouts(60.0, 60.0, 60.0)

Answer = Callable[[LoopbackConnection, ReceivedRequest], None]


class Server(LoopbackServer):
    """Answers by a function that a test gives for each path; keeps the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ReceivedRequest] = []
        self.answers: dict[str, Answer] = {"/reset": sent({"data": 0}), "/step": sent(STEP), "/close": sent({})}

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.requests.append(request)
        self.answers.get(request.path, sent({"detail": "Not Found"}, 404))(connection, request)

    def bodies(self, path: str) -> list[Any]:
        return [request.body for request in self.requests if request.path == path]


def sent(value: Any, status: int = 200) -> Answer:
    return raw(response(status, msgspec.json.encode(value)))


def raw(data: bytes) -> Answer:
    return lambda connection, _request: connection.send(data)


def silent(connection: LoopbackConnection, request: ReceivedRequest) -> None:
    """Never answer."""


@dataclass
class Process:
    """What a host knows of the process behind it, given by the test."""

    url: str
    ended: str = ""
    words: str = ""
    asked: list[Callable[[], Any]] = field(default_factory=list)

    def stderr(self) -> str:
        return self.words

    async def exited(self) -> str:
        for ask in self.asked:
            await ask()
        return self.ended


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient(max_response=100_000) as client:
        yield client


@pytest.fixture
def environment(server: Server, client: HttpClient) -> HttpEnvironment:
    return HttpEnvironment(client, Process(server.url), "episode-1", 7, timeouts=PATIENT)


async def failure(environment: HttpEnvironment, cause: Cause) -> EpisodeError:
    """What a step after a good reset raises."""
    await environment.reset()
    with pytest.raises(EpisodeError) as caught:
        await environment.step("go")
    assert caught.value.cause is cause
    return caught.value


async def test_an_episode_is_three_requests(server: Server, environment: HttpEnvironment) -> None:
    observation = await environment.reset()
    step = await environment.step({"move": [1, None]})
    await environment.close()
    assert observation.data == 0
    assert (step.reward, step.terminated, step.info, step.notes) == (0.5, True, {"won": True}, ())
    assert [(request.method, request.path, request.body) for request in server.requests] == [
        ("POST", "/reset", {"episode_id": "episode-1", "seed": 7}),
        ("POST", "/step", {"episode_id": "episode-1", "action": {"move": [1, None]}}),
        ("POST", "/close", {"episode_id": "episode-1"}),
    ]
    assert server.connections == 1


async def test_no_seed_is_sent_where_the_task_has_none(server: Server, client: HttpClient) -> None:
    await HttpEnvironment(client, Process(server.url), "e", None).reset()
    assert server.bodies("/reset") == [{"episode_id": "e"}]


async def test_paths_are_appended_to_a_base_path(server: Server, client: HttpClient) -> None:
    server.answers["/envs/7/reset"] = sent("hello")
    observation = await HttpEnvironment(client, Process(f"{server.url}/envs/7"), "e", 1).reset()
    assert observation.data == "hello"


async def test_all_answers_of_an_episode_together_have_a_limit(server: Server, client: HttpClient) -> None:
    server.answers["/reset"] = sent("a" * 600)
    server.answers["/step"] = sent({"observation": "b" * 600, "reward": 1.0, "terminated": False})
    environment = HttpEnvironment(client, Process(server.url), "e", 1, timeouts=PATIENT, most_bytes=1_000)
    found = await failure(environment, Cause.ENVIRONMENT_INVALID)
    assert "more than 1,000 bytes in one episode" in str(found)


async def test_images_stay_as_they_are(server: Server, environment: HttpEnvironment) -> None:
    picture = "iVBORw0KGgo" * 2000
    server.answers["/reset"] = sent({"data": picture, "content_type": "image/png", "system_prompt": "look"})
    observation = await environment.reset()
    assert (observation.data, observation.content_type, observation.system_prompt) == (picture, "image/png", "look")


async def test_deviations_come_back_as_notes(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/reset"] = sent({"observation": 3})
    server.answers["/step"] = sent({"observation": 4, "reward": "1", "done": "yes"})
    observation, step = await environment.reset(), await environment.step("go")
    assert (observation.data, step.reward, step.terminated) == (3, 1.0, True)
    assert "`observation`" in observation.notes[0]
    assert {"`reward`", "`done`"} <= {word for note in step.notes for word in note.split()}


async def test_values_outside_the_declared_spaces_are_noted(server: Server, client: HttpClient) -> None:
    actions = SpaceSpec(type=SpaceType.DISCRETE, enum_values=["left"])
    contract = Contract(SpaceSpec(type=SpaceType.TEXT), actions)
    environment = HttpEnvironment(client, Process(server.url), "e", 1, contract=contract)
    observation, step = await environment.reset(), await environment.step("up")
    assert "observation space" in observation.notes[0]
    assert "observation space" in step.observation.notes[0]
    assert "action space" in step.notes[0]


@pytest.mark.parametrize("status", [400, 404, 422, 500, 502, 503, 504])
async def test_an_error_status_brings_the_words_of_the_server(
    server: Server, environment: HttpEnvironment, status: int
) -> None:
    server.answers["/step"] = sent({"detail": "the board is on fire"}, status)
    # By the last three a server, or a proxy before it, says that it cannot be reached now.
    error = await failure(environment, Cause.ENVIRONMENT_UNREACHABLE if status > 500 else Cause.ENVIRONMENT_ERROR)
    assert f"POST {server.url}/step after 0." in str(error)
    assert f" s: status {status}: the board is on fire" in str(error)


async def test_long_words_of_the_server_are_cut(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/step"] = raw(response(500, b"x" * 50_000, content_type="text/plain"))
    assert 2000 < len(str(await failure(environment, Cause.ENVIRONMENT_ERROR))) < 2300


async def test_a_redirect_is_not_followed_but_named(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/step"] = raw(response(307, b"", "location: http://elsewhere.example/step\r\n"))
    assert "http://elsewhere.example/step" in str(await failure(environment, Cause.ENVIRONMENT_ERROR))


async def test_the_stderr_of_the_process_is_kept(server: Server, client: HttpClient) -> None:
    server.answers["/step"] = sent({"detail": "boom"}, 500)
    environment = HttpEnvironment(client, Process(server.url, words="Traceback …"), "e", 1)
    assert (await failure(environment, Cause.ENVIRONMENT_ERROR)).stderr == "Traceback …"


async def test_silence_is_a_timeout(server: Server, environment: HttpEnvironment, loop_clock: LoopClock) -> None:
    server.answers["/step"] = lambda *_: loop_clock.advance(60.0)
    told = str(await failure(environment, Cause.ENVIRONMENT_TIMEOUT))
    assert "/step after " in told
    assert "no complete answer in this time" in told


async def test_a_step_that_is_cancelled_leaves_an_episode_that_can_be_closed(
    server: Server, environment: HttpEnvironment
) -> None:
    asked = asyncio.Event()
    server.answers["/step"] = lambda *_: asked.set()
    await environment.reset()
    step = asyncio.create_task(environment.step("go"))
    await asked.wait()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    await environment.close()
    assert server.bodies("/close") == [{"episode_id": "episode-1"}]


async def test_reset_has_a_timeout_of_its_own(server: Server, client: HttpClient, loop_clock: LoopClock) -> None:
    server.answers["/reset"] = lambda *_: loop_clock.advance(20.0)
    environment = HttpEnvironment(client, Process(server.url), "e", 1, timeouts=Timeouts(reset=20.0, step=600.0))
    with pytest.raises(EpisodeError, match="no complete answer in this time") as caught:
        await environment.reset()
    assert caught.value.cause is Cause.ENVIRONMENT_TIMEOUT


async def test_a_connection_that_breaks_is_unreachable(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/step"] = lambda connection, _: connection.abort()
    await failure(environment, Cause.ENVIRONMENT_UNREACHABLE)


async def test_half_a_response_is_unreachable_and_says_how_far_it_came(
    server: Server, environment: HttpEnvironment
) -> None:
    whole = response(200, msgspec.json.encode(STEP))
    server.answers["/step"] = lambda connection, _: connection.finish(whole[:-20])
    assert "in the middle" in str(await failure(environment, Cause.ENVIRONMENT_UNREACHABLE))


async def test_the_end_of_the_process_is_named(server: Server, client: HttpClient) -> None:
    server.answers["/step"] = lambda connection, _: connection.abort()
    process = Process(server.url, ended="adapter.py ended with exit code 3", words="out of cheese")
    error = await failure(HttpEnvironment(client, process, "e", 1), Cause.ENVIRONMENT_UNREACHABLE)
    assert "adapter.py ended with exit code 3" in str(error)
    assert error.stderr == "out of cheese"


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (b"\x00\x01 no HTTP at all\r\n\r\n", "HTTP"),
        (response(200, b"<html>hello</html>", content_type="text/html"), "not JSON"),
        (response(200, b""), "empty"),
        (response(200, b'{"observation": NaN}'), "`observation` is NaN"),
        (response(200, b'{"observation": 1, "reward": {}}'), "`reward`"),
        (response(200, b"[1, 0.0, true, false, {}]"), "must be an object"),
        (response(200, b"[" * 50_000), "nested"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n", "larger than"),
    ],
)
async def test_an_answer_without_meaning_is_invalid(
    server: Server, environment: HttpEnvironment, answer: bytes, names: str
) -> None:
    server.answers["/step"] = raw(answer)
    error = await failure(environment, Cause.ENVIRONMENT_INVALID)
    assert names in str(error)
    assert "/step after 0." in str(error)


async def test_an_unreadable_answer_is_kept_as_detail(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/step"] = raw(response(200, b'{"observation": 1, "reward": "lots"}'))
    assert '"lots"' in (await failure(environment, Cause.ENVIRONMENT_INVALID)).detail


async def test_an_endless_answer_is_refused_at_the_cap(server: Server, environment: HttpEnvironment) -> None:
    chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    server.answers["/step"] = raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk * 8)
    assert "larger than" in str(await failure(environment, Cause.ENVIRONMENT_INVALID))


async def test_a_step_that_broke_is_not_sent_again(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/step"] = lambda connection, _: connection.abort()
    await failure(environment, Cause.ENVIRONMENT_UNREACHABLE)
    assert len(server.bodies("/step")) == 1


async def test_connecting_is_tried_again(client: HttpClient) -> None:
    server = Server()
    async with server:
        url = server.url
    process = Process(url)
    process.asked.append(server.start)
    try:
        observation = await HttpEnvironment(client, process, "e", 1).reset()
    finally:
        await server.stop()
    assert observation.data == 0


async def test_an_episode_begins_at_the_server_that_took_the_place_of_one_that_ended(
    server: Server, client: HttpClient
) -> None:
    async with Server() as old:
        url = old.url

    async def renewed() -> Process:
        return Process(server.url)

    process = Process(url, ended="adapter.py ended with exit code 1")
    environment = HttpEnvironment(client, process, "e", 1, renewed=renewed)
    assert (await environment.reset()).data == 0
    assert server.bodies("/reset") == [{"episode_id": "e", "seed": 1}]


async def test_a_step_never_moves_to_another_server(server: Server, client: HttpClient) -> None:
    async with Server() as old:
        environment = HttpEnvironment(client, Process(old.url, ended="it ended"), "e", 1, renewed=never)
        await environment.reset()
    with pytest.raises(EpisodeError, match="it ended"):
        await environment.step("go")


async def never() -> Process:
    raise AssertionError("nobody asks for another server in the middle of an episode")


async def test_nobody_connects_to_a_process_that_has_ended(client: HttpClient) -> None:
    async with Server() as server:
        url = server.url
    environment = HttpEnvironment(client, Process(url, ended="adapter.py ended with exit code 1"), "e", 1)
    with pytest.raises(EpisodeError, match="exit code 1") as caught:
        await environment.reset()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_a_server_that_nobody_started_is_unreachable(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.environments.client.CONNECT_WAITS", (0.0,))
    async with Server() as server:
        url = server.url
    with pytest.raises(EpisodeError, match=f"POST {url}/reset") as caught:
        await HttpEnvironment(client, Process(url), "e", 1).reset()
    assert caught.value.cause is Cause.ENVIRONMENT_UNREACHABLE


async def test_credentials_of_the_url_are_in_no_message(server: Server, client: HttpClient) -> None:
    server.answers["/step"] = sent({"detail": "boom"}, 500)
    url = server.url.replace("http://", "http://me:hunter2@")
    error = await failure(HttpEnvironment(client, Process(url), "e", 1), Cause.ENVIRONMENT_ERROR)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    ("action", "received"),
    [
        (math.nan, None),
        ("\ud83d", "\ufffd"),
        (("a", 1), ["a", 1]),
        ({1: {"x"}}, {"1": ["x"]}),
        (10**30, 10**30),
        (None, None),
    ],
)
async def test_actions_are_sent_as_json(
    server: Server, environment: HttpEnvironment, action: Any, received: Any
) -> None:
    await environment.reset()
    await environment.step(action)
    assert server.bodies("/step")[0]["action"] == received


async def test_an_action_without_a_json_form_is_the_failure_of_the_agent(
    server: Server, environment: HttpEnvironment
) -> None:
    await environment.reset()
    with pytest.raises(EpisodeError, match="cannot be sent") as caught:
        await environment.step(math)
    assert caught.value.cause is Cause.AGENT_ERROR
    assert server.bodies("/step") == []


async def test_the_oracle_is_asked_for_the_episode(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/oracle"] = sent({"action": ["best"]})
    await environment.reset()
    assert await environment.oracle() == ["best"]
    assert server.bodies("/oracle") == [{"episode_id": "episode-1"}]


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_without_an_oracle_the_message_says_what_to_define(
    server: Server, environment: HttpEnvironment, status: int
) -> None:
    server.answers["/oracle"] = sent({"detail": "Word offers none"}, status)
    await environment.reset()
    with pytest.raises(EpisodeError, match=r"define BaseEnv\.oracle") as caught:
        await environment.oracle()
    assert caught.value.cause is Cause.MODEL_MISSING


async def test_an_oracle_that_fails_is_a_failure_of_the_environment(
    server: Server, environment: HttpEnvironment
) -> None:
    server.answers["/oracle"] = sent({"detail": "no idea"}, 500)
    await environment.reset()
    with pytest.raises(EpisodeError, match="no idea") as caught:
        await environment.oracle()
    assert caught.value.cause is Cause.ENVIRONMENT_ERROR


@pytest.mark.parametrize(
    "answer", [sent({"detail": "no"}, 500), silent, raw(b"garbage\r\n\r\n"), lambda connection, _: connection.abort()]
)
async def test_close_never_raises(
    server: Server, environment: HttpEnvironment, answer: Answer, loop_clock: LoopClock
) -> None:
    def answer_or_be_late(connection: LoopbackConnection, request: ReceivedRequest) -> None:
        answer(connection, request)
        loop_clock.advance(60.0)

    server.answers["/close"] = answer_or_be_late
    await environment.reset()
    await environment.close()
    await environment.close()
    assert len(server.bodies("/close")) >= 1


async def test_an_episode_that_never_began_is_not_closed(server: Server, environment: HttpEnvironment) -> None:
    await environment.close()
    assert server.requests == []


async def test_an_episode_whose_reset_failed_is_closed(server: Server, environment: HttpEnvironment) -> None:
    server.answers["/reset"] = sent({"detail": "no map"}, 500)
    with pytest.raises(EpisodeError):
        await environment.reset()
    await environment.close()
    assert len(server.bodies("/close")) == 1


async def test_a_process_that_is_gone_is_not_asked_to_close(server: Server, client: HttpClient) -> None:
    server.answers["/step"] = lambda connection, _: connection.abort()
    environment = HttpEnvironment(client, Process(server.url, ended="adapter.py ended with exit code 1"), "e", 1)
    await failure(environment, Cause.ENVIRONMENT_UNREACHABLE)
    await environment.close()
    assert server.bodies("/close") == []


async def test_an_episode_whose_connection_broke_is_closed_where_the_server_lives(
    server: Server, environment: HttpEnvironment
) -> None:
    server.answers["/step"] = lambda connection, _: connection.abort()
    await failure(environment, Cause.ENVIRONMENT_UNREACHABLE)
    await environment.close()
    assert len(server.bodies("/close")) == 1
