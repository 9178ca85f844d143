"""The test double and real servers get the same requests, good and bad, and answer alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.foreign.real_servers import KEY, RealServer, Reply

from mesocosm.testing.model_server import ModelServer

SAID = [{"role": "user", "content": "How many? [[say 4]]"}]


@dataclass(frozen=True)
class Case:
    """One request. `model` is put in unless it is None."""

    path: str = "/v1/chat/completions"
    body: Any = None
    model: str | None = "known"
    key: str | None = None
    method: str = "POST"
    raw: bytes | None = None

    def send(self, server: RealServer) -> Reply:
        """Ask a server."""
        body = self.body
        if isinstance(body, dict) and self.model is not None:
            body = {"model": server.model if self.model == "known" else self.model, **body}
        return server.ask(self.path, body, key=self.key, method=self.method, raw=self.raw)


CHAT, MESSAGES, RESPONSES, EMBEDDINGS = (
    f"/v1/{name}" for name in ("chat/completions", "messages", "responses", "embeddings")
)
GOOD = {
    "chat": Case(body={"messages": SAID, "max_tokens": 8}),
    "chat with zero temperature": Case(body={"messages": SAID, "max_tokens": 8, "temperature": 0}),
    "chat with parts": Case(
        body={"messages": [{"role": "user", "content": [{"type": "text", "text": "[[say 4]]"}]}], "max_tokens": 8}
    ),
    "list of models": Case("/v1/models", method="GET"),
}
MORE = {
    "responses": Case(RESPONSES, {"input": "[[say 4]]", "max_output_tokens": 16}),
    "messages": Case(MESSAGES, {"messages": SAID, "max_tokens": 8}),
    "embeddings": Case(EMBEDDINGS, {"input": "[[say 4]]"}),
}
"""What the model `puppet` of LiteLLM's proxy answers; llama.cpp's server makes no embeddings of this model."""
BAD = {
    "messages as text": Case(body={"messages": "hi"}),
    "a broken body": Case(raw=b"{bad"),
    "a body that is a list": Case(body=[]),
    "an unknown path": Case("/v1/nothing", {}),
    "a doubled version": Case("/v1/v1/chat/completions", {"messages": SAID}),
    "a wrong key": Case(body={"messages": SAID}, key="sk-of-somebody-else"),
    "no key": Case(body={"messages": SAID}, key=""),
}
BAD_FOR_LITELLM = {
    "a model that is a number": Case(body={"model": 3, "messages": SAID}, model=None),
    "a wrong method": Case(method="GET"),
    "no model": Case(body={"messages": SAID}, model=None),
    "an unknown model": Case(body={"messages": SAID}, model="absent"),
    "no messages": Case(body={}),
    "responses without a model": Case(RESPONSES, {"input": "x"}, model=None),
    "messages without a model": Case(MESSAGES, {"messages": SAID, "max_tokens": 8}, model=None),
    "messages without max_tokens": Case(MESSAGES, {"messages": SAID}),
    "embeddings without a model": Case(EMBEDDINGS, {"input": "x"}, model=None),
}
BAD_FOR_LLAMA = {
    "temperature as text": Case(body={"messages": SAID, "temperature": "hot"}),
    "max_tokens as text": Case(body={"messages": SAID, "max_tokens": "many"}),
    "a prompt that is too long": Case(body={"messages": [{"role": "user", "content": "word " * 4000}]}),
}


@pytest.fixture(scope="module")
def double(puppet_model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """Return our own server, set up as the real ones are."""
    place = tmp_path_factory.mktemp("double")
    with ModelServer(puppet_model.answer, models=["puppet"], key=KEY, context=2048) as server:
        yield RealServer(server.url, "puppet", place / "none.log")


def shape(reply: Reply) -> list[str]:
    """Return what clients look for in an answer."""
    body = reply.body if isinstance(reply.body, dict) else {}
    return sorted({"choices", "usage", "content", "output", "data"} & body.keys())


@pytest.mark.parametrize("name", GOOD)
def test_good_requests_are_answered_alike(
    name: str, double: RealServer, litellm_server: RealServer, llama_server: RealServer
) -> None:
    replies = [GOOD[name].send(server) for server in (double, litellm_server, llama_server)]
    assert [reply.status for reply in replies] == [200] * 3
    assert shape(replies[0]) == shape(replies[1]) == shape(replies[2])


@pytest.mark.parametrize("name", MORE)
def test_further_protocols_are_answered_alike(
    name: str, double: RealServer, litellm_server: RealServer, llama_server: RealServer
) -> None:
    puppet = RealServer(litellm_server.url, "puppet", litellm_server.log)
    servers = [double, puppet, *([llama_server] if name != "embeddings" else [])]
    replies = [MORE[name].send(server) for server in servers]
    assert {reply.status for reply in replies} == {200}
    assert len({tuple(shape(reply)) for reply in replies}) == 1


@pytest.mark.parametrize("name", [*BAD, *BAD_FOR_LITELLM])
def test_the_double_refuses_what_litellm_refuses(name: str, double: RealServer, litellm_server: RealServer) -> None:
    case = {**BAD, **BAD_FOR_LITELLM}[name]
    ours, theirs = case.send(double), case.send(litellm_server)
    assert 400 <= ours.status < 500
    assert theirs.status >= 400
    if theirs.status < 500 and "key" not in name:
        assert ours.status == theirs.status
    if isinstance(theirs.error, dict):
        assert isinstance(ours.error, dict)
        assert {"message", "type"} <= ours.error.keys()


@pytest.mark.parametrize("name", [*BAD, *BAD_FOR_LLAMA])
def test_the_double_refuses_what_llama_refuses(name: str, double: RealServer, llama_server: RealServer) -> None:
    case = {**BAD, **BAD_FOR_LLAMA}[name]
    ours, theirs = case.send(double), case.send(llama_server)
    assert 400 <= ours.status < 500
    assert theirs.status >= 400
    if theirs.status < 500:
        assert ours.status == theirs.status
    assert theirs.error["code"] == theirs.status, "llama.cpp repeats the status; OpenAI, and the double, give a word"
