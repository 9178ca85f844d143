"""The server between a run and its model's: what it remembers, and each way in which it fails."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mesocosm.chaos.fault import FAULTS, FaultTarget
from mesocosm.chaos.model_proxy import OTHER_MODEL, ModelProxy, RecordedAnswer
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.testing.loopback import LoopbackConnection
from mesocosm.testing.model_server import ModelServer

OF_MODELS = [fault.name for fault in FAULTS if fault.means is FaultTarget.MODEL]
ASKED = {"model": "steady", "messages": [{"role": "user", "content": "one"}]}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model's own server, every answer of which is another one."""
    said = iter(range(1000))
    with ModelServer(lambda _body: f"answer {next(said)}", models=["steady"]) as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[ModelProxy]:
    with ModelProxy() as made:
        yield made


async def ask(url: str, *bodies: dict[str, Any], seconds: float = 20.0) -> list[Response]:
    async with HttpClient() as client:
        asked = (
            client.request(
                "POST", f"{url}/chat/completions", body=json.dumps(body).encode(), timeout=seconds, resend=False
            )
            for body in bodies or (ASKED,)
        )
        return await asyncio.gather(*asked)


def said(response: Response) -> str:
    text = response.json()["choices"][0]["message"]["content"]
    assert isinstance(text, str)
    return text


async def test_equal_requests_get_the_first_answer_and_are_asked_once(model: ModelServer, proxy: ModelProxy) -> None:
    url = proxy.address(model.openai_url)
    other = {**ASKED, "temperature": 1}
    first = [said(one) for one in await ask(url, ASKED, ASKED, other, ASKED)]
    later = [said(one) for one in await ask(url, ASKED, other)]
    assert len({first[0], first[1], first[3], later[0]}) == 1
    assert later[1] == first[2] != first[0]
    assert (model.served, proxy.asked, proxy.answered) == (2, 2, 6)


async def test_a_refusal_is_passed_on_and_not_remembered(model: ModelServer, proxy: ModelProxy) -> None:
    url = proxy.address(model.openai_url)
    unknown = {**ASKED, "model": "unknown"}
    assert [one.status for one in await ask(url, unknown) + await ask(url, unknown)] == [400, 400]
    assert (model.served, proxy.answered) == (2, 0)


async def test_each_server_has_a_port_of_its_own(proxy: ModelProxy) -> None:
    places = [proxy.address(url) for url in ("https://a.example/v1", "https://b.example/v1", "https://a.example")]
    assert places[0] == f"{places[2]}/v1"
    assert places[0] != places[1]


async def test_a_server_that_is_away_answers_502(proxy: ModelProxy) -> None:
    (response,) = await ask(proxy.address("http://127.0.0.1:9/v1"))
    assert response.status == 502
    assert proxy.answered == 0


@pytest.mark.parametrize("name", OF_MODELS)
async def test_a_fault_comes_after_so_many_answers_and_ends(model: ModelServer, proxy: ModelProxy, name: str) -> None:
    url = proxy.address(model.openai_url)
    right = said((await ask(url))[0])
    armed = proxy.arm(name, after=1, seconds=60)
    assert said((await ask(url))[0]) == right
    assert armed.met == 0
    try:
        (wrong,) = await ask(url, seconds=0.3 if name == "hang" else 60.0)
    except HttpError as error:
        seen: Any = type(error)
    else:
        seen = wrong.status
    lost = ConnectionLost
    broken = {"down": lost, "dead": lost, "half": lost, "hang": Timeout, "gzip": BadResponse, "nan": 429}
    assert seen == broken.get(name, int(name) if name.isdigit() else 200)
    assert armed.met == 1
    if name == "down":
        with pytest.raises(ConnectFailed):
            await ask(url)
    proxy.disarm()
    assert said((await ask(url))[0]) == right


@pytest.mark.parametrize("stream", [False, True])
async def test_another_model_is_named_and_nothing_else_differs(
    model: ModelServer, proxy: ModelProxy, *, stream: bool
) -> None:
    url, body = proxy.address(model.openai_url), {**ASKED, "stream": stream}
    (right,) = await ask(url, body)
    proxy.arm("other-model", after=0, seconds=60)
    (other,) = await ask(url, body)
    assert right.body.count(b'"steady"') == other.body.count(f'"{OTHER_MODEL}"'.encode()) > 0
    assert other.body == right.body.replace(b'"steady"', f'"{OTHER_MODEL}"'.encode())


async def test_an_answer_for_a_closed_connection_is_not_counted(proxy: ModelProxy) -> None:
    closed = LoopbackConnection(lambda connection, request: None, set())
    proxy._say(closed, RecordedAnswer(200, b"{}", "application/json"), counted=True)
    assert proxy.answered == 0
