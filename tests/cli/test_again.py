"""`mesocosm run again`: a recorded model call is asked once more, and nothing is stored."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.model import ModelReply
from mesocosm.interop.again import NewAnswer
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke


def asked(mesocosm: "Invoke", folder: Path, server: ModelServer) -> tuple[str, str]:
    """Ask a row; return the words that name the results."""
    (folder / "q.csv").write_text("question,answer\n1 + 1?,2\n")
    there = ("--results-dir", str(folder / "results"))
    words = ("--prompt", "{{question}}", "--system", "Be brief.", "--grader", "exact", "--no-view")
    model = f"openai/m@{server.openai_url}"
    assert mesocosm("eval", "ask", folder / "q.csv", *words, "-m", model, *there).code == 0
    return there


def test_the_same_body_is_sent_and_the_answers_stand_beside_each_other(mesocosm: "Invoke", tmp_path: Path) -> None:
    said = iter(("3", "2"))
    with ModelServer(lambda _body: next(said)) as server:
        there = asked(mesocosm, tmp_path, server)
        outcome = mesocosm("run", "again", "last/0", *there)
        first, second = (request.body for request in server.requests if request.method == "POST")

    assert outcome.code == 0, outcome.err
    assert first == second
    assert outcome.out.splitlines()[1:6:3] == ["3", "2"]
    assert outcome.out.splitlines()[-1] == "the same body was sent; nothing is stored"
    assert len(mesocosm("run", "list", "--json", *there).document["items"]) == 1


def test_another_prompt_is_sent_with_what_else_was_asked(mesocosm: "Invoke", tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("2 + 2?")
    with ModelServer(lambda body: body["messages"][-1]["content"]) as server:
        there = asked(mesocosm, tmp_path, server)
        words = ("--prompt", f"@{tmp_path / 'other.txt'}", "--json")
        document = mesocosm("run", "again", "last/0", "--call", "1", *words, *there).document

    assert (document["then"]["text"], document["now"]["text"]) == ("1 + 1?", "2 + 2?")
    assert document["same_body"] is False


def test_a_call_that_is_not_there_is_refused(mesocosm: "Invoke", tmp_path: Path) -> None:
    with ModelServer("2") as server:
        there = asked(mesocosm, tmp_path, server)
        outcome = mesocosm("run", "again", "last/0", "--call", "2", *there)

    assert outcome.code == 2
    assert "has no model call 2; it has 1" in outcome.err


def again(mesocosm: "Invoke", folder: Path, reply: ScriptedAnswer) -> str:
    """Return what is said of a reply to a call that is asked again."""
    said = iter((ScriptedAnswer("3"), reply))
    with ModelServer(lambda _body: next(said)) as server:
        outcome = mesocosm("run", "again", "last/0", *asked(mesocosm, folder, server))
    assert outcome.code == 0, outcome.err
    return outcome.out


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (ScriptedAnswer("Let me", finish_reason="length"), "the reply was cut off at its limit of tokens"),
        (ScriptedAnswer(""), "the reply is empty"),
        (ScriptedAnswer("", finish_reason="content_filter"), "the provider withheld the reply"),
        (ScriptedAnswer("I can't.", finish_reason="content_filter"), "the model refused"),
    ],
)
def test_what_is_odd_about_a_reply_is_said(
    mesocosm: "Invoke", tmp_path: Path, reply: ScriptedAnswer, note: str
) -> None:
    assert note in again(mesocosm, tmp_path, reply).splitlines()


def test_a_whole_reply_needs_no_note(mesocosm: "Invoke", tmp_path: Path) -> None:
    assert len(again(mesocosm, tmp_path, ScriptedAnswer("2")).splitlines()) == 7


def test_a_reply_moves_no_cursor_and_shows_no_key(
    mesocosm: "Invoke", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", "a-key-of-this-machine")
    out = again(mesocosm, tmp_path, ScriptedAnswer("\x1b]0;title\x07\x1b[2Jkey a-key-of-this-machine\rgone"))
    assert "\\x1b]0;title\\x07" in out
    assert "key [redacted]\\x0dgone" in out


def test_another_model_that_answered_is_named() -> None:
    def notes(served: str) -> tuple[str, ...]:
        return NewAnswer(ModelReply("4", served=served, estimated=not served), "openai/gpt-9@http://h/v1", None).notes

    assert notes("tiny") == ("the server says that tiny answered",)
    assert notes("gpt-9-2026-01-01") == notes("gpt-9") == ()
    assert notes("") == ("the server does not say how many tokens it took",)
