"""Programs with stock clients behind the recording proxy, with real servers behind that."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.conftest import Laboratory, Played
from tests.foreign.real_servers import KEY, RealServer

from mesocosm.core.event import Kind

PROGRAMS = Path(__file__).with_name("programs")
TEXTS = ("chat", "chat_stream", "responses", "responses_stream", "messages", "messages_stream", "another", "nameless")


@dataclass(frozen=True)
class Asked:
    """What the clients got, by the kind of call, and what was recorded of these calls, in their order."""

    got: dict[str, Any]
    played: Played
    kinds: tuple[str, ...]

    def call(self, kind: str) -> Any:
        """Return the recorded call of a kind; calls that the server refused are not among them."""
        taken = [one for one in self.kinds if not str(self.got[one]).startswith("status ")]
        assert len(self.played.calls) == len(taken)
        return self.played.calls[taken.index(kind)]


def ask(laboratory: Laboratory, server: RealServer, *kinds: str, model: str = "", most: int = 16) -> Asked:
    """Let the program make some calls, whose replies have at most `most` tokens."""
    shutil.copytree(PROGRAMS, laboratory.root / "asking", dirs_exist_ok=True)
    words = ["bench", "run", "--benchmarks-dir", "asking", "--benchmarks", "asking", "--quiet"]
    words += [
        "--model",
        server.named(model),
        "--extra",
        json.dumps({"kinds": ",".join(kinds), "max_tokens": most}),
        "--retries",
        "1",
    ]
    outcome = laboratory.mesocosm(*words)
    assert outcome.code in {0, 1, 3}, outcome.err
    played = laboratory.played()
    shown = [payload["data"] for payload in played.payloads(Kind.OBSERVATION)]
    items = {one["id"]: one["output"] for one in shown if isinstance(one, dict) and one.get("id") in kinds}
    return Asked(items, played, kinds)


@pytest.fixture(scope="module")
def through_litellm(litellm_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Return what came of every kind of call through LiteLLM's proxy."""
    laboratory = Laboratory(tmp_path_factory.mktemp("through-litellm"), {"MESOCOSM_API_KEY": KEY})
    return ask(laboratory, litellm_server, *TEXTS, "embeddings", "tool", "schema", model="puppet")


@pytest.fixture(scope="module")
def through_llama(llama_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Return what came of every kind of call to llama.cpp."""
    laboratory = Laboratory(tmp_path_factory.mktemp("through-llama"), {"MESOCOSM_API_KEY": KEY})
    return ask(laboratory, llama_server, *TEXTS)


@pytest.mark.parametrize("kind", TEXTS)
def test_litellm_answers_every_protocol_with_the_runs_model(kind: str, through_litellm: Asked) -> None:
    assert through_litellm.got[kind] == "4"
    call = through_litellm.call(kind)
    assert call["model"] == "openai/puppet"
    assert call["usage"]["prompt"] > 0
    assert call["usage"]["completion"] > 0


def test_litellm_passes_embeddings_tools_and_schemas_on(through_litellm: Asked) -> None:
    got = through_litellm.got
    assert (got["embeddings"], got["tool"], got["schema"]) == (2, ["room"], ["floor"])
    assert {call["model"] for call in through_litellm.played.calls} == {"openai/puppet"}


@pytest.mark.parametrize("kind", TEXTS)
def test_llama_answers_every_protocol_with_the_runs_model(kind: str, through_llama: Asked) -> None:
    got = through_llama.got[kind]
    assert isinstance(got, str)
    assert not got.startswith("status ")
    assert through_llama.call(kind)["model"].removeprefix("openai/") == "tiny"


def test_tools_and_schemas_come_from_a_real_engine(laboratory: Laboratory, llama_server: RealServer) -> None:
    asked = ask(laboratory, llama_server, "required_tool", "schema", "grammar", most=200)
    assert asked.got == {"required_tool": ["room"], "schema": ["floor"], "grammar": ["floor"]}


def test_the_runs_token_limit_cuts_a_reply_whatever_the_client_asks_for(
    laboratory: Laboratory, llama_server: RealServer
) -> None:
    asked = ask(laboratory, llama_server, "cut", most=3)
    assert asked.got == {"cut": "length"}
    [call] = asked.played.calls
    # llama.cpp counts the token that it cut off as well.
    assert (call["finish_reason"], call["usage"]["completion"] in {3, 4}) == ("length", True)


def test_a_prompt_that_is_too_long_is_refused_once(laboratory: Laboratory, llama_server: RealServer) -> None:
    asked = ask(laboratory, llama_server, "overflow")
    assert asked.got == {"overflow": "status 400"}
    assert asked.played.payloads(Kind.RETRY) == []
