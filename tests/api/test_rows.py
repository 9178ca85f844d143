"""Rows as tasks: columns, prompts, the right answer, names."""

import json
from pathlib import Path

import pytest
from tests.api.conftest import ROWS

import mesocosm as mc


def evaluated(what: object, **arguments: object) -> mc.Run:
    return mc.evaluate(what, **{"prompt": "{question}", "grader": "numeric", "model": "builtin/oracle", **arguments})  # type: ignore[arg-type]


def test_a_list_of_rows_has_a_score_with_an_interval() -> None:
    run = evaluated(ROWS)
    assert (run.status, run.score) == ("finished", 1.0)
    assert run.score is not None
    assert (run.score.n, run.score.planned) == (6, 6)
    assert run.score.low == pytest.approx(0.6096, abs=1e-4)


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl", "q.json"])
def test_a_file_is_named_after_its_stem(place: Path, name: str) -> None:
    if name.endswith(".csv"):
        text = "question,answer\n" + "\n".join(f"{row['question']},{row['answer']}" for row in ROWS)
    else:
        text = "\n".join(map(json.dumps, ROWS)) if name.endswith("l") else json.dumps(ROWS)
    (place / name).write_text(text)
    run = evaluated(name)
    assert (run.benchmark, run.score) == ("q", 1.0)


def test_a_recording_is_found_by_the_place_of_a_row(place: Path) -> None:
    said = [{"index": number, "completion": row["answer"]} for number, row in enumerate(ROWS)]
    (place / "said.jsonl").write_text("\n".join(map(json.dumps, said)))
    assert evaluated([{"id": f"q{n}", **row} for n, row in enumerate(ROWS)], model="replay/said.jsonl").score == 1.0


def test_two_lists_do_not_meet_under_one_name() -> None:
    assert evaluated(ROWS).benchmark != evaluated(ROWS[:3]).benchmark
    assert evaluated(ROWS).benchmark.startswith("rows-")


def test_tasks_with_ids_are_rows() -> None:
    tasks = [mc.Task("first", input={"question": "1 + 1?"}, target="2"), mc.Task("second", input="x", target="3")]
    run = mc.evaluate(tasks, agent=lambda row: "2", grader="exact")
    assert [(episode.task, episode.score) for episode in run.episodes()] == [("first", 1.0), ("second", 0.0)]


class PandasLike:
    """Has of a pandas frame what is asked of it."""

    columns = ("question", "answer")
    iloc = None

    def to_dict(self) -> None: ...

    def itertuples(self, index: bool, name: None) -> list[tuple[object, ...]]:
        assert (index, name) == (False, None)
        return [("1 + 1?", 2.0), ("nothing", float("nan"))]


def test_a_frame_is_rows_and_nan_is_no_answer() -> None:
    run = mc.evaluate(PandasLike(), prompt="{question}", model="builtin/empty")
    assert [episode.expected for episode in run.episodes()] == [2.0, None]


def test_the_column_that_was_taken_for_the_right_answer_is_noted() -> None:
    assert "the right answer is column 'answer'; expected= names another" in evaluated(ROWS).notes
    assert not any("right answer" in note for note in evaluated(ROWS, expected="answer", fresh=True).notes)


def test_two_possible_right_answers_are_refused() -> None:
    with pytest.raises(mc.UsageError, match=r"'target' and 'answer'.*expected="):
        evaluated([{"question": "?", "answer": "1", "target": "2"}])


def test_the_right_answer_never_reaches_prompt_or_agent() -> None:
    with pytest.raises(mc.UsageError, match="the model must not see it"):
        evaluated(ROWS, prompt="{question} {answer}")
    seen: list[object] = []

    def agent(row: object) -> str:
        seen.append(row)
        return "x"

    mc.evaluate(ROWS, agent=agent, grader="exact")
    assert len(seen) == 6
    assert all(isinstance(row, dict) and row.keys() == {"question", "level"} for row in seen)


def test_several_models_are_refused_with_what_takes_them() -> None:
    with pytest.raises(mc.UsageError, match=r"mc\.sweep takes a list"):
        evaluated(ROWS, model=["builtin/oracle", "builtin/empty"])


def test_a_wrong_column_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(mc.UsageError, match=r"\{questoin\}; columns of .*question, level; did you mean \{question\}"):
        evaluated(ROWS, prompt="{questoin}")
    with pytest.raises(mc.UsageError, match=r"did you mean \{\{question\}\}"):
        evaluated(ROWS, prompt="{{ questoin }}")


@pytest.mark.parametrize(
    ("prompt", "filled"),
    [
        ("{question}", "0 + 0?"),
        ("{{ question }}!", "0 + 0?!"),
        ('{"json": {"of": [1]}} {question}', '{"json": {"of": [1]}} 0 + 0?'),
        ("{ question } {}", "{ question } {}"),
    ],
)
def test_braces_stand_for_columns_and_for_nothing_else(prompt: str, filled: str) -> None:
    (episode,) = evaluated(ROWS, prompt=prompt, limit=1).episodes()
    assert episode.input == filled


def test_messages_and_functions_are_prompts() -> None:
    given = [{"role": "system", "content": "Add."}, {"role": "user", "content": "{question}"}]
    (episode,) = evaluated(ROWS, prompt=given, limit=1).episodes()
    assert [one["content"] for one in episode.messages] == ["Add.", "0 + 0?", "0"]
    (made,) = evaluated(ROWS, prompt=lambda row: f"<{row['question']}>", system="Be brief.", limit=1).episodes()
    assert [one["content"] for one in made.messages] == ["Be brief.", "<0 + 0?>", "0"]


def test_rows_are_chosen_by_number_and_id() -> None:
    rows = [{"id": "a", **ROWS[0]}, {"id": "b", **ROWS[1]}]
    assert [one.task for one in evaluated(rows, only=["b"]).episodes()] == ["b"]
    assert [one.task for one in evaluated(rows, only=[0]).episodes()] == ["a"]
    with pytest.raises(mc.UsageError, match="has no row 'c'"):
        evaluated(rows, only=["c"])


def test_scores_are_taken_apart_by_a_column() -> None:
    table = evaluated(ROWS).by("level")
    assert [(row["level"], row["episodes"], row["score"]) for row in table] == [("easy", 3, 1.0), ("hard", 3, 1.0)]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ([], "no rows"),
        ([1], "row 0 is int"),
        (7, "int is no list of rows"),
        ("missing.csv", "there is no such file"),
        ("./nothing", "there is no such file or folder"),
        ("context-bensh", "did you mean 'context-bench'"),
        ("nosuch:thing", "no source is called 'nosuch'.*entry points mesocosm.sources"),
        ("hff:org/name", "did you mean hf:org/name?"),
        ("rows:thing", "no source is called 'rows'"),
        ([{"question": object()}], "object, which has no JSON form"),
    ],
)
def test_what_cannot_be_evaluated_is_named(what: object, words: str) -> None:
    with pytest.raises(mc.UsageError, match=words):
        evaluated(what)


def test_without_prompt_and_agent_the_columns_are_named() -> None:
    with pytest.raises(mc.UsageError, match=r'prompt="\{question\}".*question, level'):
        mc.evaluate(ROWS, grader="numeric", model="builtin/oracle")


def test_no_model_is_chosen_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mc.UsageError, match="which model"):
        evaluated(ROWS, model=None)
    monkeypatch.setenv("MESOCOSM_MODEL", "builtin/oracle")
    assert evaluated(ROWS, model=None).model == "builtin/oracle"


def test_a_machine_can_be_kept_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOCOSM_LOCAL_ONLY", "1")
    with pytest.raises(mc.UsageError, match="MESOCOSM_LOCAL_ONLY"):
        evaluated(ROWS, model="openai/gpt-5-mini")


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"trials": 0}, {"parallel": -1}, {"timeout": 0}, {"params": {"x": 1}}])
def test_counts_that_cannot_be_meant_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(mc.UsageError):
        evaluated(ROWS, **wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"temperature": "hot"}, "temperature='hot' cannot work; it is a number from 0"),
        ({"temperature": float("nan")}, "temperature=nan cannot work"),
        ({"name": 3}, "name=3 cannot work; it is a text"),
        ({"tags": [3]}, "it is a list of words"),
        ({"model": 5}, "model=5 cannot work"),
        ({"limits": {"usd": 1}}, r"it is mesocosm\.Limits"),
        ({"prompt": b"x"}, "prompt=b'x' cannot work"),
        ({"prompt": ["x"]}, "a message is a dict"),
        ({"store": 3}, "store=3 cannot work"),
        ({"on_episode": "yes"}, "on_episode='yes' cannot work"),
        ({"only": []}, "only= is empty"),
        ({"only": [True]}, "only= holds True"),
        ({"only": [0, 0]}, "names row 0 of .* twice"),
        ({"only": [1], "limit": 1}, "both choose"),
    ],
)
def test_an_argument_of_another_kind_is_refused_and_spoils_no_results(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(mc.UsageError, match=words):
        evaluated(ROWS, **wrong)
    assert len(mc.runs()) == 0


@pytest.mark.parametrize("cell", [float("inf"), "\ud800"])
def test_a_cell_without_a_json_form_is_named(cell: object) -> None:
    with pytest.raises(mc.UsageError, match=r"row 1 .*column 'x'"):
        evaluated([{**ROWS[0], "x": "fine"}, {**ROWS[1], "x": cell}])


@pytest.mark.parametrize("column", ["Frage (de)", "вопрос", "a/b", "1"])
def test_columns_of_any_name_are_filled_in(column: str) -> None:
    run = evaluated([{column: "1 + 1?", "answer": "2"}], prompt=f"Add: {{{column}}}")
    assert next(run.episodes()).input == "Add: 1 + 1?"
