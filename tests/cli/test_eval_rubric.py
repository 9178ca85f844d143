"""`mesocosm eval rubric` and `mesocosm eval calibrate`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.store import open_store
from mesocosm.testing.fault import RATE_LIMIT, Fault
from mesocosm.testing.model_server import ModelServer

GIVEN = {"Paris": 1.0, "London": 0.0, "Paris, I think": 0.5}


def judged(body: dict[str, Any]) -> str:
    """Answer like a judge that knows three answers."""
    asked = body["messages"][1]["content"]
    answer = asked.split(" ANSWER>>\n")[1].split("\n<<")[0]
    return json.dumps({"reasoning": f"about {answer}", "score": GIVEN[answer]})


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    rows = [{"question": "Capital of France?", "solution_str": answer, "label": "Paris"} for answer in GIVEN]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def words(server: ModelServer, data: Path, *more: str) -> list[str]:
    return ["eval", "rubric", "-d", str(data), "-r", "Is it right?", "--model", f"fake/j@{server.openai_url}", *more]


def test_rubric_prints_five_numbers(mesocosm: Callable[..., Any], answers: Path) -> None:
    with ModelServer(judged) as server:
        outcome = mesocosm(*words(server, answers))
    assert outcome.code == 0, outcome.err
    lines = dict(line.split() for line in outcome.out.splitlines() if line.startswith("  "))
    assert lines == {"average": "0.5000", "variance": "0.2500", "stdev": "0.5000", "min": "0.0000", "max": "1.0000"}


def test_rubric_shows_the_judge_task_answer_and_reference(mesocosm: Callable[..., Any], answers: Path) -> None:
    with ModelServer(judged) as server:
        mesocosm(*words(server, answers))
        asked = [request.body["messages"] for request in server.requests if request.method == "POST"]
    assert len(asked) == 3
    assert all("Capital of France?" in messages[1]["content"] for messages in asked)
    assert all("Is it right?" in messages[0]["content"] for messages in asked)
    assert all("REFERENCE" in messages[1]["content"] for messages in asked)


def test_rubric_judges_each_row_as_often_as_asked(mesocosm: Callable[..., Any], answers: Path) -> None:
    with ModelServer(judged) as server:
        outcome = mesocosm(*words(server, answers, "-n", "3", "--json"))
        assert server.served == 9
        assert {request.body["temperature"] for request in server.requests if request.method == "POST"} == {1.0}
    assert [len(row["scores"]) for row in outcome.document["results"]] == [3, 3, 3]


def test_rubric_gives_no_score_where_the_judge_leaves_its_scale_twice(
    mesocosm: Callable[..., Any], answers: Path
) -> None:
    with ModelServer('{"reasoning": "", "score": 12}') as server:
        outcome = mesocosm(*words(server, answers, "--score-min", "-5", "--score-max", "5", "--json"))
        assert server.served == 6
    assert outcome.code == 1
    assert outcome.document["statistics"]["average"] is None
    assert "the scale goes from -5 to 5" in outcome.document["results"][0]["error"]


def test_rubric_reads_its_text_from_a_file(mesocosm: Callable[..., Any], answers: Path, tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text("Only capitals count.")
    with ModelServer(judged) as server:
        model = f"fake/j@{server.openai_url}"
        outcome = mesocosm("eval", "rubric", "-d", answers, "-r", f"@{tmp_path / 'rubric.md'}", "--model", model)
        assert "Only capitals count." in server.requests[-1].body["messages"][0]["content"]
    assert outcome.code == 0


def test_rubric_writes_each_row(mesocosm: Callable[..., Any], answers: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "scores.jsonl"
    with ModelServer(judged) as server:
        mesocosm(*words(server, answers, "-o", str(file)))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["row"], row["score"]) for row in rows] == [(0, 1.0), (1, 0.0), (2, 0.5)]
    assert rows[0]["explanation"] == "about Paris"


def test_rubric_names_and_counts_rows_that_fail(mesocosm: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "answers.jsonl"
    data.write_text('{"answer": "Paris"}\n{"answer": ""}\n{"answer": "London"}\n')
    with ModelServer(judged) as server:
        outcome = mesocosm(*words(server, data))
    assert outcome.code == 3
    assert "2 of 3 rows judged" in outcome.out
    assert "row 2" in outcome.err


def test_rubric_fails_where_no_row_could_be_judged(mesocosm: Callable[..., Any], answers: Path) -> None:
    with ModelServer("I would say: quite good!") as server:
        outcome = mesocosm(*words(server, answers, "--json"))
        assert server.served == 6
    assert outcome.code == 1
    assert outcome.document["statistics"]["average"] is None
    assert all("answered twice" in row["error"] for row in outcome.document["results"])


def test_rubric_repeats_calls_that_may_succeed(mesocosm: Callable[..., Any], answers: Path) -> None:
    with ModelServer(judged, faults=[RATE_LIMIT, RATE_LIMIT]) as server:
        assert mesocosm(*words(server, answers)).code == 0


def test_rubric_does_not_ask_a_model_for_every_row_that_is_not_there(
    mesocosm: Callable[..., Any], tmp_path: Path
) -> None:
    rows = tmp_path / "many.jsonl"
    rows.write_text('{"answer": "Paris"}\n' * 40)
    with ModelServer(judged, models=["another"]) as server:
        outcome = mesocosm(*words(server, rows, "--json"))
        assert len([call for call in server.requests if call.path.endswith("/completions")]) <= 8
    assert (outcome.code, outcome.document["failed"]) == (1, 40)


def test_rubric_tells_the_servers_words_of_a_refused_call(mesocosm: Callable[..., Any], answers: Path) -> None:
    refused = Fault(status=400, text="no such parameter")
    with ModelServer(judged, faults=[None, refused, None]) as server:
        outcome = mesocosm(*words(server, answers))
    assert outcome.code == 3
    assert "no such parameter" in outcome.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--score-min", "2", "--score-max", "1"), "is not below"),
        (("-r", "  "), "rubric is empty"),
        (("-r", "@nowhere.md"), "cannot be read"),
        (("-d", "nowhere.jsonl"), "no such file"),
        (("--model", "judge"), "provider/name"),
    ],
)
def test_rubric_refuses_what_cannot_work(
    mesocosm: Callable[..., Any], answers: Path, change: tuple[str, ...], said: str
) -> None:
    with ModelServer(judged) as server:
        outcome = mesocosm(*words(server, answers), *change)
        assert server.served == 0
    assert outcome.code == 2
    assert said in outcome.err


def test_rubric_names_the_columns_where_there_is_no_answer(mesocosm: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    outcome = mesocosm("eval", "rubric", "-d", tmp_path / "x.csv", "-r", "r", "--model", "builtin/empty")
    assert outcome.code == 2
    assert "solution_str" in outcome.err
    assert "a, b" in outcome.err


@pytest.fixture
def labels(played: Any, tmp_path: Path) -> Path:
    """Return labels of the run's tasks; the first is wrongly failed by people."""
    store = open_store(played.results)
    try:
        tasks = [episode.task_id for episode in store.episodes.list(played.run_id).items]
    finally:
        store.close()
    lines = [f"{task},{1 if place == 0 else 5}" for place, task in enumerate(tasks)]
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(["task,score", *lines]) + "\n")
    return file


def test_calibrate_compares_a_run_with_labels(mesocosm: Callable[..., Any], played: Any, labels: Path) -> None:
    outcome = mesocosm("eval", "calibrate", played.run_id, "--labels", labels, "--scale", 1, 5, "--json", *played.there)
    assert outcome.code == 0, outcome.err
    found = outcome.document
    assert (found["n"], found["tasks"]) == (6, 6)
    assert found["agreement"]["value"] == pytest.approx(5 / 6)
    assert found["confusion"] == {"both": 5, "grader_only": 1, "human_only": 0, "neither": 0}


def test_calibrate_warns_of_few_labels(mesocosm: Callable[..., Any], played: Any, labels: Path) -> None:
    outcome = mesocosm("eval", "calibrate", "last", "--labels", labels, "--scale", 1, 5, *played.there)
    assert "0.8333 [" in outcome.out
    assert "only 6 labelled answers" in outcome.err


def test_calibrate_names_labels_without_an_episode(mesocosm: Callable[..., Any], played: Any, labels: Path) -> None:
    labels.write_text(labels.read_text() + "elsewhere,5\n")
    outcome = mesocosm("eval", "calibrate", "last", "--labels", labels, "--scale", 1, 5, *played.there)
    assert "1 label of no episode of the run: elsewhere" in outcome.err


def test_calibrate_refuses_labels_of_another_run(mesocosm: Callable[..., Any], played: Any, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("row,score\nx,1\n")
    outcome = mesocosm("eval", "calibrate", "last", "--labels", file, *played.there)
    assert outcome.code == 2
    assert "x" in outcome.err


def test_calibrate_tells_every_bad_label(mesocosm: Callable[..., Any], played: Any, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("row,score\n1,good\n2,7\n")
    outcome = mesocosm("eval", "calibrate", "last", "--labels", file, *played.there)
    assert outcome.code == 2
    assert "row 1" in outcome.err
    assert "row 2" in outcome.err
