"""Calls that are asked again, forks and checks of models, on servers that were not written here."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import KEY, RealServer

from mesocosm.server import model_check

WRONG = "sk-of-somebody-else-0123456789"
REFUSED = [
    ("litellm", "absent", KEY, "Invalid model name"),
    ("litellm", "limited", KEY, "429"),
    ("litellm", "broken", KEY, "500"),
    ("litellm", "overflowing", KEY, "longer than the model takes"),
    ("litellm", "steady", WRONG, "check the key"),
    ("llama", "tiny", WRONG, "check the key"),
]


def asked(laboratory: Laboratory, server: RealServer) -> None:
    """Ask one question of a model."""
    file = laboratory.write("q.csv", "question,answer\nWhat is 2 + 2?,4\n")
    words = ("--prompt", "{{question}}", "--grader", "numeric", "--set", "model.max_tokens=16", "--quiet", "--no-view")
    done = laboratory.mesocosm("eval", "ask", file, *words, "-m", server.named())
    assert done.code == 0, done.err


def test_a_call_is_asked_again_with_the_same_body(laboratory: Laboratory, real_server: RealServer) -> None:
    asked(laboratory, real_server)
    done = laboratory.mesocosm("run", "again", "last/0", "--json")
    assert done.code == 0, done.err
    assert done.document["same_body"] is True
    assert done.document["now"]["text"]
    assert ("cut off" in str(done.document["notes"])) == (done.document["now"]["finish_reason"] == "length")
    assert KEY not in done.out + done.err


@pytest.mark.parametrize(("name", "model", "key", "words"), REFUSED)
def test_what_a_server_refuses_is_no_new_answer(
    laboratory: Laboratory, request: pytest.FixtureRequest, name: str, model: str, key: str, words: str
) -> None:
    server: RealServer = request.getfixturevalue(f"{name}_server")
    asked(laboratory, server)
    laboratory.variables["MESOCOSM_API_KEY"] = key
    done = laboratory.mesocosm("run", "again", "last/0", "-m", server.named(model))
    assert (done.code, done.out) == (1, "")
    assert words in done.err
    assert key not in done.err
    assert len(laboratory.mesocosm("run", "list", "--json").document["items"]) == 1


def test_a_server_that_answers_with_another_model_is_found_out(
    laboratory: Laboratory, llama_server: RealServer
) -> None:
    asked(laboratory, llama_server)
    done = laboratory.mesocosm("run", "again", "last/0", "-m", llama_server.named("gpt-9"))
    assert "the server says that tiny answered" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(("name", "model", "key", "words"), REFUSED)
def test_a_check_of_a_model_says_what_its_server_refuses(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str, model: str, key: str, words: str
) -> None:
    server: RealServer = request.getfixturevalue(f"{name}_server")
    monkeypatch.setenv("MESOCOSM_API_KEY", key)
    found = checked(server, model)
    assert (found.answers, found.reply, words in found.error) == (False, "", True), found.error
    assert key not in found.error
    assert server.url not in found.error


def test_a_check_of_a_model_that_answers(real_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", KEY)
    found = checked(real_server, real_server.model)
    assert (found.answers, found.error, found.tokens > 0) == (True, "", True)


def checked(server: RealServer, model: str) -> Any:
    """Ask a model one word, as a server of ours does."""
    service = cast("Any", SimpleNamespace(assign_model_keys=lambda: None))
    return model_check._ask(service, cast("Any", SimpleNamespace(name=server.named(model), asked="house/model")))


def test_a_fork_that_its_server_refuses_has_no_result(laboratory: Laboratory, litellm_server: RealServer) -> None:
    manifest = laboratory.root / "env" / "benchanything.json"
    assert laboratory.mesocosm("init", manifest.parent).code == 0
    words = ("--manifest", manifest, "--seeds", "1", "--quiet", "--no-view")
    laboratory.mesocosm("run", "local", "-m", "builtin/random", *words)
    done = laboratory.mesocosm("run", "fork", "last/0", "--at", "1", "-m", litellm_server.named("absent"), "--quiet")
    assert done.code == 4
    assert KEY not in done.out + done.err
    played = laboratory.played()
    assert played.run.primary is None or played.run.primary.value is None
