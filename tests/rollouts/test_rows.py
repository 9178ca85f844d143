"""Rows of tables as rollouts take them."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import InvalidInput
from mesocosm.datasets import DataTable, open_table
from mesocosm.rollouts.rows import RolloutRow, Rows, read_rows
from mesocosm.rollouts.tables import Columns

ASKED = {"user_prompt": "1 + 1 = ?"}


def table(*rows: dict[str, Any]) -> DataTable:
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    return DataTable("made", columns, rows, "digest")


def only(row: dict[str, Any], columns: Columns | None = None) -> RolloutRow:
    return read_rows(table(row), columns)[0]


def problems(given: DataTable, columns: Columns | None = None) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidInput) as caught:
        read_rows(given, columns)
    return [(problem.path, problem.message, problem.fix) for problem in caught.value.problems]


def test_a_row_is_a_prompt_a_label_and_the_rest_as_metadata() -> None:
    given = {**ASKED, "system_prompt": "Be short.", "ground_truth": "2", "level": 3, "tags": ["x"]}
    assert only(given) == RolloutRow(
        0,
        ({"role": "system", "content": "Be short."}, {"role": "user", "content": "1 + 1 = ?"}),
        "2",
        {"level": 3, "tags": ["x"]},
        {"level": "3"},
    )


def test_rows_are_counted_from_0_in_the_whole_dataset() -> None:
    rows = read_rows(table(ASKED, ASKED, ASKED))
    assert [row.index for row in rows] == [0, 1, 2]
    assert rows[-1].index == 2
    assert [row.index for row in rows[1:]] == [1, 2]
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("True", "True"),
        (" verbatim\n", " verbatim\n"),
        (True, "true"),
        (0.5, "0.5"),
        (2, "2"),
        (2.0, "2"),
        (0, "0"),
        (False, "false"),
        ({"b": 1, "a": [None, "é"]}, '{"a":[null,"é"],"b":1}'),
        ([], "[]"),
        ("", None),
        (None, None),
    ],
)
def test_ground_truth_becomes_a_text(value: Any, label: str | None) -> None:
    assert only({**ASKED, "ground_truth": value}).label == label


def test_the_first_ground_truth_that_is_filled_is_taken_and_none_reaches_the_workflow() -> None:
    rows = read_rows(
        table(
            {**ASKED, "ground_truth": "1", "label": "2"},
            {**ASKED, "ground_truth": "", "label": "2"},
            {**ASKED, "ground_truth": None, "label": False},
        )
    )
    assert [row.label for row in rows] == ["1", "2", "false"]
    assert [row.metadata for row in rows] == [None, None, None]


def test_rows_without_ground_truth_are_told() -> None:
    rows = read_rows(table({**ASKED, "label": "1"}, {**ASKED, "label": ""}, ASKED))
    assert rows.notes == ("2 of 3 rows have no ground truth (the first: row 2)",)
    assert read_rows(table(ASKED)).notes == ()


def test_a_solution_that_the_workflow_sees_is_told() -> None:
    given = table({**ASKED, "Answer": "2"})
    (said,) = read_rows(given).notes
    assert said.startswith("no column is the ground truth, and the workflow sees Answer as metadata; if that is it: ")
    assert said.endswith('columns = { ground_truth = "Answer" }')
    assert read_rows(given, Columns(ground_truth=("Answer",))).notes == ()
    assert read_rows(given, extras=False).notes == ()
    assert read_rows(given, Columns(user_prompt="Answer")).notes == ()
    assert read_rows(table({**ASKED, "Answer": "2", "metadata": {"a": 1}})).notes == ()


def test_a_prompt_may_be_a_conversation() -> None:
    messages = [{"role": "user", "content": "Hi", "name": None}, {"role": "assistant", "content": None}]
    row = only({"user_prompt": messages, "system_prompt": "Be short."})
    assert row.prompt == (
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None},
    )


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        (None, "is missing"),
        (3, "is the number 3, no text and no list of messages"),
        ({"role": "user"}, "is an object, no text and no list of messages"),
        ([], "is an empty list, no text and no list of messages"),
        (["Hi"], 'message 1 is the string "Hi", no object'),
        ([{"role": "boss", "content": "x"}], 'message 1 has the role the string "boss"'),
        ([{"role": ["user"], "content": "x"}], "message 1 has the role a list"),
        ([{"role": "user", "content": 3}], "message 1 has the content the number 3, no text and no list of parts"),
        ([{"role": "user"}], "message 1 has the content null, no text and no list of parts"),
        ([{"role": "system", "content": "only"}], "is empty"),
    ],
)
def test_what_is_no_prompt_is_named(prompt: Any, said: str) -> None:
    ((path, message, _),) = problems(table({"user_prompt": prompt}))
    assert (path, message) == ("row 1, column user_prompt", said)


def test_two_system_prompts_are_refused() -> None:
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    ((path, message, fix),) = problems(table({"user_prompt": messages, "system_prompt": "c"}))
    assert path == "row 1, column user_prompt"
    assert message == "begins with a system message, and the row has a system prompt too"
    assert fix == "keep one of the two"
    assert only({"user_prompt": messages, "system_prompt": " "}).prompt == tuple(messages)


def test_a_system_prompt_must_be_a_text() -> None:
    ((path, message, _),) = problems(table({**ASKED, "system_prompt": 3}))
    assert (path, message) == ("row 1, column system_prompt", "is the number 3, no text")


def test_the_problems_of_all_rows_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"user_prompt": ""}, ASKED, {"user_prompt": 5}, {}]
    path.write_text("\n\n".join(map(json.dumps, rows)))
    assert [(where, what) for where, what, _ in problems(open_table(path))] == [
        ("row 1, column user_prompt", "is empty"),
        ("row 3, column user_prompt", "is the number 5, no text and no list of messages (line 5)"),
        ("row 4, column user_prompt", "is missing (line 7)"),
    ]


def test_twenty_problems_are_shown_and_the_others_counted() -> None:
    with pytest.raises(InvalidInput, match=r"made \(the first 20 of 50 problems\)") as caught:
        read_rows(table(*[{"user_prompt": ""}] * 50))
    assert len(caught.value.problems) == 20


@pytest.mark.parametrize(
    ("column", "guess"),
    [("question", "question"), ("Prompt", "Prompt"), ("user-prompt", "user-prompt"), ("n", "…")],
)
def test_a_missing_prompt_column_is_told_with_its_remedy(column: str, guess: str) -> None:
    ((path, message, fix),) = problems(table({column: "x", "other": 1}))
    assert path == "column user_prompt"
    assert message == f"is missing; the columns are {column}, other"
    assert fix == f'map it: [dataset] columns = {{ user_prompt = "{guess}" }}, or --columns user_prompt={guess}'


def test_columns_are_mapped_to_roles() -> None:
    columns = Columns("question", "style", ("answer", "fallback"), "facts")
    given = {"question": "q", "style": "s", "answer": 1, "facts": {"n": 1}, "user_prompt": "other"}
    row = only(given, columns)
    assert [message["content"] for message in row.prompt] == ["s", "q"]
    assert (row.label, row.metadata) == ("1", {"n": 1})


def test_every_column_that_is_mapped_but_missing_is_named() -> None:
    columns = Columns("question", "style", ("anser",), "facts")
    found = problems(table({"q": "x", "answer": 1}), columns)
    assert [path for path, _, _ in found] == ["column question", "column style", "column facts", "column anser"]
    assert found[-1][2] == 'map it: [dataset] columns = { ground_truth = "answer" }, or --columns ground_truth=answer'


def test_without_extras_columns_without_a_role_are_kept_from_the_workflow() -> None:
    row = read_rows(table({**ASKED, "level": 3}), extras=False)[0]
    assert (row.metadata, row.labels) == (None, {"level": "3"})


@pytest.mark.parametrize("value", [{"a": {"b": 1}, "level": 3}, '{"a": {"b": 1}, "level": 3}'])
def test_a_metadata_column_is_passed_as_it_is_and_nothing_is_mixed_in(value: Any) -> None:
    row = only({"metadata": value, "other": "x"})
    assert row == RolloutRow(0, (), None, {"a": {"b": 1}, "level": 3}, {"level": "3", "other": "x"})


@pytest.mark.parametrize("value", [{}, None, "", " ", "{}", "null"])
def test_empty_metadata_is_none(value: Any) -> None:
    row = only({**ASKED, "metadata": value})
    assert row.metadata is None
    assert row.prompt


def test_a_row_that_holds_nothing_is_named() -> None:
    given = table({"metadata": {"a": 1}}, {"metadata": {}, "ground_truth": ""})
    ((path, message, _),) = problems(given)
    assert (path, message) == ("row 2", "holds nothing: no metadata, no prompt, no ground truth")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1], "is a list, no JSON object"),
        (3, "is the number 3, no JSON object"),
        ("[1]", "is a list, no JSON object"),
        ('"text"', 'is the string "text", no JSON object'),
        ("{", "is not a JSON object: "),
        ({"n": "\ud800"}, "has no JSON form: "),
    ],
)
def test_metadata_that_is_no_object_is_named(value: Any, said: str) -> None:
    ((path, message, _),) = problems(table({"metadata": value}))
    assert path == "row 1, column metadata"
    assert message.startswith(said)


def test_values_without_a_json_form_are_named_with_their_column() -> None:
    found = problems(table({**ASKED, "level": 1, "count": object(), "ground_truth": float("nan")}))
    assert [path for path, _, _ in found] == ["row 1, column count", "row 1, column ground_truth"]


def test_whole_numbers_of_any_size_are_kept() -> None:
    row = only({**ASKED, "count": 2**70, "ground_truth": -(2**70)})
    assert (row.label, row.metadata) == (str(-(2**70)), {"count": 2**70})


def test_facts_to_slice_by_are_short_printable_scalars() -> None:
    given = {
        "text": "x" * 80,
        "long": "x" * 81,
        "lines": "a\nb",
        "empty": "",
        "yes": True,
        "n": 1,
        "f": 0.50,
        "none": None,
        "list": [1],
        "object": {"a": 1},
    }
    assert only({**ASKED, **given}).labels == {"text": "x" * 80, "yes": "true", "n": "1", "f": "0.5"}


def test_facts_of_metadata_go_before_columns_of_the_same_name() -> None:
    assert only({"metadata": {"level": 1}, "level": 2}).labels == {"level": "1"}


def test_rows_say_the_mode_and_the_roles() -> None:
    rows = read_rows(table({**ASKED, "label": "x", "other": 1}))
    assert isinstance(rows, Rows)
    assert (rows.roles.mode, rows.roles.taken) == ("prompt", ("user_prompt", "label"))
    assert read_rows(table({"metadata": {"a": 1}})).roles.mode == "metadata"


def test_the_split_of_a_row_is_a_label_and_reaches_nobody() -> None:
    row = only({**ASKED, "split": "test", "level": 1})
    assert (row.metadata, row.labels) == ({"level": 1}, {"split": "test", "level": "1"})
    row = only({**ASKED, "split": "test", "fold": 2}, Columns(split="fold"))
    assert (row.metadata, row.labels) == ({"split": "test"}, {"split": "test", "fold": "2"})
    assert only({**ASKED, "split": ["a"]}, Columns(split="")).metadata == {"split": ["a"]}


def test_a_split_without_a_name_is_told_with_its_remedy() -> None:
    ((path, message, fix),) = problems(table({**ASKED, "split": ["a"]}))
    assert path == "row 1, column split"
    assert "is not the name of a split" in message
    assert 'split = ""' in fix


def test_columns_of_the_origin_reach_nobody_and_the_run_is_a_label() -> None:
    origin = {"origin_run": "r1", "origin_episode": "e1", "origin_task": "t1"}
    row = only({**ASKED, **origin})
    assert (row.metadata, row.labels) == (None, {"origin_run": "r1"})
