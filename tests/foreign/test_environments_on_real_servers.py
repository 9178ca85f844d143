"""`run local`: a new environment, played by models on real servers."""

import pytest
from tests.foreign.conftest import Laboratory, Played
from tests.foreign.real_servers import RealServer

BY_THE_AGENT = {"", "malformed_action", "reply_truncated"}


def play(laboratory: Laboratory, server: RealServer, *words: str) -> tuple[int, Played]:
    """Play a new environment."""
    assert laboratory.mesocosm("init", "--dir", "world").code == 0
    manifest = laboratory.root / "world" / "benchanything.json"
    outcome = laboratory.mesocosm(
        "run", "local", "--manifest", manifest, "--model", server.named(), "--episodes", "3", "--quiet", *words
    )
    return outcome.code, laboratory.played()


@pytest.mark.parametrize("structured", ["auto", "off"])
def test_a_real_engine_plays_an_environment(structured: str, laboratory: Laboratory, llama_server: RealServer) -> None:
    code, played = play(laboratory, llama_server, "--structured", structured, "--max-tokens", "64")
    assert (code, played.run.status) == (0, "finished")
    assert set(played.causes) <= BY_THE_AGENT
    assert None not in played.values or set(played.causes) != {""}
    assert played.calls
    assert all(call["usage"]["prompt"] > 0 for call in played.calls)
    assert played.run.usage.calls == len(played.calls)


def test_words_that_are_no_action_are_the_agents_failure(laboratory: Laboratory, litellm_server: RealServer) -> None:
    code, played = play(laboratory, litellm_server)
    assert (code, played.run.status) == (0, "finished")
    assert set(played.causes) <= BY_THE_AGENT
