"""Models that are asked for verdicts, on servers that were not written here: what is not a verdict is no result."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import KEY, RealServer

WRONG = "sk-of-somebody-else-0123456789"


def scored(score: object) -> str:
    return f'{{"reasoning": "so", "score": {score}}}'


# What a judge says, one reply after the other, and the score that it comes to on a scale from 0 to 10.
JUDGED: Mapping[str, tuple[tuple[str, ...], float | None]] = {
    "plain": ((scored(8),), 8.0),
    "fenced": ((f"```json\n{scored(8)}\n```",), 8.0),
    "best named": ((scored('"8/10"'),), 8.0),
    "after thoughts": ((f"<think>{scored(2)}?</think>{scored(7)}",), 7.0),
    "at the second request": (("Well.", scored(6)), 6.0),
    "no object": (("8/10",), None),
    "above the scale": ((scored(95),), None),
    "below the scale": ((scored(-3),), None),
    "two objects": ((f"{scored(2)}\n{scored(9)}",), None),
    "broken off": (('{"reasoning": "The answer is',), None),
    "empty": (("",), None),
    "refused": (("I'm sorry, but I can't help with that.",), None),
}


def told(*replies: str) -> str:
    """Return a question that makes the puppet give the replies, the last one as often as it is asked."""
    return "".join(f"[[say {reply}]]" for reply in replies) + "[[again]]"


def calls(server: RealServer) -> int:
    """Return how many calls of models have reached LiteLLM's proxy."""
    return server.log.read_text(errors="replace").count("POST /v1/chat/completions")


def nowhere(laboratory: Laboratory, *keys: str) -> bool:
    """Return whether nothing in the laboratory's records names one of the keys."""
    stored = [file.read_bytes() for file in laboratory.results.rglob("*") if file.is_file()]
    return not any(key.encode() in content for content in stored for key in keys)


def judged(laboratory: Laboratory, judge: str, replies: list[tuple[str, ...]]) -> tuple[int, Any, str]:
    """Judge an answer for each list of replies; return the exit code, the document and what was said beside it."""
    rows = [{"question": told(*said), "answer": "four"} for said in replies]
    file = laboratory.write("answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    words = ("-d", file, "-r", "Is it right?", "--score-max", "10", "--json", "--model", judge)
    done = laboratory.mesocosm("eval", "rubric", *words)
    assert KEY not in done.out + done.err
    return done.code, json.loads(done.out) if done.out else None, done.err


def test_a_reply_that_is_no_verdict_leaves_no_score(laboratory: Laboratory, litellm_server: RealServer) -> None:
    before = calls(litellm_server)
    code, found, _ = judged(laboratory, litellm_server.named("puppet"), [said for said, _ in JUDGED.values()])
    scores = dict(zip(JUDGED, [row["score"] for row in found["results"]], strict=True))
    assert scores == {name: score for name, (_, score) in JUDGED.items()}
    assert (code, found["judged"], found["statistics"]["min"], found["statistics"]["max"]) == (3, 5, 6.0, 8.0)
    problems = {name: str(row["error"]) for name, row in zip(JUDGED, found["results"], strict=True)}
    assert "it is empty" in problems["empty"]
    assert "breaks off" in problems["broken off"]
    assert "the scale goes from 0 to 10" in problems["above the scale"]
    twice = sum(score is None or len(said) > 1 for said, score in JUDGED.values())
    assert calls(litellm_server) - before == len(JUDGED) + twice


def test_a_judge_that_is_not_there_is_not_asked_for_every_row(
    laboratory: Laboratory, litellm_server: RealServer
) -> None:
    before = calls(litellm_server)
    code, found, _ = judged(laboratory, litellm_server.named("absent"), [("x",)] * 40)
    assert (code, found["judged"], found["statistics"]["average"]) == (1, 0, None)
    assert calls(litellm_server) - before <= 8
    assert all("Invalid model name" in row["error"] for row in found["results"])


@pytest.mark.parametrize(("model", "words"), [("limited", "429"), ("broken", "500"), ("overflowing", "longer than")])
def test_what_a_server_refuses_a_judge_is_no_score(
    laboratory: Laboratory, litellm_server: RealServer, model: str, words: str
) -> None:
    code, found, _ = judged(laboratory, litellm_server.named(model), [("x",)])
    assert (code, found["judged"], found["statistics"]["average"], words in found["results"][0]["error"]) == (
        *(1, 0, None),
        True,
    ), found


def test_a_wrong_key_of_a_judge_is_said_before_a_row_is_judged(
    laboratory: Laboratory, llama_server: RealServer
) -> None:
    laboratory.variables["MESOCOSM_API_KEY"] = WRONG
    code, found, said = judged(laboratory, llama_server.named(), [("x",)])
    assert (code, list(found), "check the key in MESOCOSM_API_KEY" in said) == (1, ["error", "detail"], True), said
    assert WRONG not in json.dumps(found) + said


def test_a_server_that_refuses_what_its_model_wrote_is_not_in_trouble(
    laboratory: Laboratory, llama_server: RealServer
) -> None:
    # The random model now and then writes JSON that llama.cpp itself then cannot read; it answers 500.
    _, found, _ = judged(laboratory, llama_server.named(), [("x",)])
    error = found["results"][0]["error"]
    assert found["judged"] == 0
    assert "the server has trouble" not in error, error


def asked(laboratory: Laboratory, server: RealServer, model: str, *more: str) -> str:
    """Ask two questions, of which the first makes the puppet judge and answer the same; return the id of the run."""
    verdict = {"reasoning": "so", "better": "first", "answer": "yes", "step": 0, "quote": "What is four"}
    rows = [{"question": f"What is four? {told(said)}", "answer": "4"} for said in (json.dumps(verdict), "blue")]
    file = laboratory.write("q.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    words = ("--prompt", "{{question}}", "-m", server.named(model), "--quiet", "--json", *more)
    done = laboratory.mesocosm("eval", "ask", file, *words, *(() if more else ("--grader", "exact")))
    assert done.code in {0, 1, 3}, done.err
    return str(done.document["run"]["id"])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, litellm_server: RealServer) -> tuple[Laboratory, list[str]]:
    """Return a laboratory and the ids of two runs of the same rows in it."""
    laboratory = Laboratory(tmp_path_factory.mktemp("judges"), {"MESOCOSM_API_KEY": KEY})
    return laboratory, [asked(laboratory, litellm_server, name) for name in ("steady", "puppet")]


def test_pairs_are_judged_once_and_what_is_no_verdict_is_no_tie(
    played: tuple[Laboratory, list[str]], litellm_server: RealServer
) -> None:
    laboratory, runs = played
    words = ("pairwise", *runs, "-r", "Shorter.", "-m", litellm_server.named("puppet"), "--quiet")
    found = laboratory.mesocosm(*words, "--json").document
    assert (found["wins"], found["ties"], found["losses"], found["not_judged"]) == (0, 1, 0, 1)
    numbers = {metric["name"]: (metric["value"], metric["n_scored"]) for metric in found["run"]["metrics"]}
    assert numbers == {"win_rate": (0.5, 1), "consistent": (0.0, 1), "shown_first_wins": (1.0, 1)}
    before = calls(litellm_server)
    again = laboratory.mesocosm(*words)
    assert "not judged: 1 (it is not JSON 1)" in again.out
    assert calls(litellm_server) == before
    assert "\x1b" not in again.out
    assert nowhere(laboratory, KEY)


@pytest.mark.parametrize("command", ["pairwise", "scan"])
@pytest.mark.parametrize(
    ("server", "model", "code", "words"),
    [
        ("litellm", "overflowing", 1, "(context overflow 2)"),
        ("llama", "tiny", 1, "(the reply was cut off 2)"),
        ("litellm", "broken", 3, "2 model_unavailable"),
        ("litellm", "absent", 4, "Invalid model name"),
    ],
)
def test_a_reader_that_cannot_answer_measures_nothing(
    played: tuple[Laboratory, list[str]],
    request: pytest.FixtureRequest,
    command: str,
    server: str,
    model: str,
    code: int,
    words: str,
) -> None:
    laboratory, runs = played
    asking = [*runs, "-r", "Shorter."] if command == "pairwise" else [runs[0], "--ask", "Is it four?", "--name", model]
    reader = request.getfixturevalue(f"{server}_server").named(model)
    limits = ("--set", "limits.retries=0", "--set", "model.max_tokens=16")
    done = laboratory.mesocosm(command, *asking, "-m", reader, "--quiet", *limits)
    assert (done.code, words in done.out) == (code, True), done.out + done.err
    assert KEY not in done.out + done.err
    run = laboratory.played().run
    assert all(metric.value is None and metric.n_scored == 0 for metric in run.metrics), run.metrics


def test_a_scan_counts_what_quotes_its_step(played: tuple[Laboratory, list[str]], litellm_server: RealServer) -> None:
    laboratory, (run, _) = played
    words = ("--ask", "Is it four?", "--name", "four", "-m", litellm_server.named("puppet"), "--quiet", "--json")
    found = laboratory.mesocosm("scan", run, *words).document
    assert (found["metrics"]["scan:four"]["value"], found["measured"]) == (1.0, 1)
    assert found["not_measured"] == {"it is not JSON": 1}


@pytest.mark.parametrize(
    ("judge", "causes"),
    [
        ("puppet", ["grader_error", "grader_error"]),
        ("broken", ["model_unavailable", "model_unavailable"]),
        ("overflowing", ["context_overflow", "context_overflow"]),
    ],
)
def test_a_row_whose_judge_gives_no_verdict_has_no_score(
    laboratory: Laboratory, litellm_server: RealServer, judge: str, causes: list[str]
) -> None:
    limits = ("--set", "limits.retries=0")
    asked(laboratory, litellm_server, "steady", "--rubric", "Right?", "--judge", litellm_server.named(judge), *limits)
    found = laboratory.played()
    assert found.values == [None, None]
    assert found.run.primary is not None
    assert (found.run.primary.value, found.run.primary.missing) == (None, {causes[0]: 2})
    assert nowhere(laboratory, KEY)
