"""`mesocosm run again`: a recorded model call is asked once more, and nothing is stored."""

from pathlib import Path
from typing import TYPE_CHECKING

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
