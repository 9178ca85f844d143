"""Folders as tables: data files one after the other, or texts with facts at their head."""

import json
from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.datasets import open_table
from mesocosm.datasets.front_matter import BadFrontMatter, front_matter


def fill(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_data_files_of_one_format_are_one_table_in_the_order_of_their_names(tmp_path: Path) -> None:
    fill(tmp_path, b_dot_jsonl='{"n": 2}\n{"n": 3}\n', a_dot_jsonl='{"n": 1}\n', README_dot_md="# Not data")
    fill(tmp_path, _dot_hidden_dot_csv="x\n1\n")
    table = open_table(tmp_path)
    assert list(table.rows) == [
        {"n": 1, "_file": "a.jsonl"},
        {"n": 2, "_file": "b.jsonl"},
        {"n": 3, "_file": "b.jsonl"},
    ]
    assert table.where(2, "n") == "b.jsonl, row 2, column n"
    assert table.format == "jsonl"


def test_a_folder_with_one_data_file_is_that_file(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_csv="n\n1\n")
    assert list(open_table(tmp_path).rows) == [{"n": "1"}]
    assert open_table(tmp_path).digest == open_table(tmp_path / "a.csv").digest


def test_of_several_formats_one_must_be_named(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_csv="n\n1\n", b_dot_jsonl='{"n": 2}')
    with pytest.raises(UsageError, match=r"several formats \(1 of csv and 1 of jsonl\); name a file, or one format"):
        open_table(tmp_path)
    assert list(open_table(tmp_path, kind="jsonl").rows) == [{"n": 2}]
    with pytest.raises(UsageError, match="holds no data: no parquet file"):
        open_table(tmp_path, kind="parquet")


def test_a_column_of_the_name_that_files_get_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_jsonl='{"_file": 1}', b_dot_jsonl='{"n": 2}')
    with pytest.raises(UsageError, match=r"a\.jsonl has a column _file"):
        open_table(tmp_path)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_py="print()")
    with pytest.raises(UsageError, match="holds no data: no file of csv, tsv"):
        open_table(tmp_path)


def test_texts_are_a_row_each_with_the_facts_at_their_head(tmp_path: Path) -> None:
    fill(
        tmp_path,
        b_dot_txt="plain\n",
        sub__a_dot_md="---\nlevel: 3\nground_truth: '42'\ntags: [\"x\"]\n---\n\nHow many?\n",
        sub___dot_git__c_dot_md="hidden",
    )
    table = open_table(tmp_path)
    assert list(table.rows) == [
        {"text": "plain\n", "path": "b.txt"},
        {"text": "How many?\n", "path": "sub/a.md", "level": 3, "ground_truth": "42", "tags": ["x"]},
    ]
    assert table.columns == ("text", "path", "level", "ground_truth", "tags")
    assert table.where(1, "level") == "sub/a.md, column level"


def test_texts_beside_data_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_csv="n\n1\n", b_dot_md="text")
    assert [row["path"] for row in open_table(tmp_path, kind="text").rows] == ["b.md"]


def test_one_text_is_one_row_when_it_is_asked_for(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_md="---\nn: 1\n---\nbody")
    assert list(open_table(tmp_path / "a.md", kind="text").rows) == [{"text": "body", "path": "a.md", "n": 1}]
    with pytest.raises(UsageError, match="is not a known format"):
        open_table(tmp_path / "a.md")


def test_every_text_with_a_broken_head_is_named(tmp_path: Path) -> None:
    fill(tmp_path, a_dot_md="---\nok: 1\n???\n---\n", b_dot_md="---\npath: x\n---\n", c_dot_md="+++\nx =\n+++\n")
    (tmp_path / "d.txt").write_bytes(b"\xff")
    with pytest.raises(InvalidInput) as caught:
        open_table(tmp_path)
    assert [problem.path for problem in caught.value.problems] == ["a.md", "b.md", "c.md", "d.txt, line 1"]
    assert "line 3 of its head is no `key: value`" in str(caught.value)


def test_the_name_of_a_text_is_part_of_the_digest(tmp_path: Path) -> None:
    first = open_table(fill(tmp_path / "one", a_dot_txt="same"))
    second = open_table(fill(tmp_path / "two", b_dot_txt="same"))
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("head", "facts"),
    [
        ("a: text with: colon", {"a": "text with: colon"}),
        ("a: 1\nb: 0.5\nc: true\nd: null\ne:\nf: ~", {"a": 1, "b": 0.5, "c": True, "d": None, "e": None, "f": None}),
        ("a: \"x: \\\"y\\\"\"\nb: 'it''s'", {"a": 'x: "y"', "b": "it's"}),
        ('a: {"b": [1, 2]}', {"a": {"b": [1, 2]}}),
        ("a:\n  - 1\n  - two\nb:\n- x", {"a": [1, "two"], "b": ["x"]}),
        ("a: |\n  first\n    second\n\nb: >-\n  one\n  two", {"a": "first\n  second\n", "b": "one two"}),
        ("# a remark\n\na: 1", {"a": 1}),
        ("a: 2026-01-02", {"a": "2026-01-02"}),
    ],
)
def test_heads_are_read_as_yaml_says(head: str, facts: dict[str, object]) -> None:
    assert front_matter(f"---\n{head}\n---\nbody") == (facts, "body")


def test_heads_between_plus_signs_are_toml() -> None:
    text = "+++\na = 1\nday = 2026-01-02\n[b]\nc = ['x']\n+++\nbody"
    assert front_matter(text) == ({"a": 1, "day": "2026-01-02", "b": {"c": ["x"]}}, "body")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "---\nno end: 1\n",
        "---\nA paragraph between rules.\n---\nrest",
        "---\n# Heading\n---\n",
        "a\n---\nb: 1\n---\n",
    ],
)
def test_a_text_without_head_is_left_as_it_is(text: str) -> None:
    assert front_matter(text) == ({}, text)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("a: 1\na: 2", "line 3 of its head names a again"),
        ("a: [x]", "line 2 of its head has a value that is not JSON"),
        ("a:\n  b: 1", "line 3 of its head is more than a list or a text"),
        ("a: x\n  y", "line 3 of its head is more than a list or a text"),
    ],
)
def test_heads_beyond_the_simple_are_refused(head: str, said: str) -> None:
    with pytest.raises(BadFrontMatter, match=said):
        front_matter(f"---\n{head}\n---\n")


def test_a_head_in_windows_lines_is_read() -> None:
    assert front_matter("---\r\na: 1\r\n---\r\nbody\r\n") == ({"a": 1}, "body\r\n")


def test_json_in_heads_keeps_its_kind() -> None:
    value = {"nested": [True, None, 1.5]}
    assert front_matter(f"---\nx: {json.dumps(value)}\n---\n") == ({"x": value}, "")


def test_numbers_that_json_does_not_know_are_refused_in_heads() -> None:
    with pytest.raises(BadFrontMatter, match="its TOML head holds a number that JSON does not know"):
        front_matter("+++\nx = [nan]\n+++\n")
