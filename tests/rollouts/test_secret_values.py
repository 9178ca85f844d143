"""The values of secrets: where they come from, and that no message repeats one."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.rollouts.secret_values import parse_dotenv, resolve


def dotenv(text: str) -> dict[str, str]:
    return parse_dotenv(text, "secrets.env")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=plain", "plain"),
        ("  A = spaced  ", "spaced"),
        ("export A=exported", "exported"),
        ("export\tA=tabbed", "tabbed"),
        ("A=with # comment", "with"),
        ("A=with#hash", "with#hash"),
        ("A=#nothing", ""),
        ("A=", ""),
        ("A=a b c", "a b c"),
        ("A=a=b", "a=b"),
        ("A=it's", "it's"),
        ("A=${B}$C", "${B}$C"),
        ("A=' kept # as is \\n '", " kept # as is \\n "),
        ('A="line\\nline\\t\\"x\\" \\\\ \\$ \\q"', 'line\nline\t"x" \\ $ \\q'),
        ('A="two\nlines" # comment', "two\nlines"),
        ("A='two\r\nlines'\r\n", "two\nlines"),
        ("# comment\n\nA=1\nA=2", "2"),
    ],
)
def test_a_line_of_a_dotenv_file_is_read(text: str, value: str) -> None:
    assert dotenv(text) == {"A": value}


def test_an_entry_follows_one_of_many_lines() -> None:
    assert dotenv("A='-----BEGIN\nabc\n-----END'\nB=2\n") == {"A": "-----BEGIN\nabc\n-----END", "B": "2"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A=1\nsk-12345\n", 2),
        ("\n\n1A=sk-12345", 3),
        ('A="sk-12345', 1),
        ("A='sk-12345' tail", 1),
        ("A B=sk-12345", 1),
        ("A=sk-12345\0", 1),
        ("=sk-12345", 1),
    ],
)
def test_a_wrong_line_is_told_by_its_number_and_never_repeated(text: str, line: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        dotenv(text)
    assert [problem.path for problem in caught.value.problems] == [f"line {line}"]
    assert "12345" not in str(caught.value)


def test_all_wrong_lines_are_told() -> None:
    with pytest.raises(InvalidInput) as caught:
        dotenv("one\nA=1\ntwo")
    assert [problem.path for problem in caught.value.problems] == ["line 1", "line 3"]


def test_the_file_goes_before_the_environment_and_only_the_names_are_returned(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_bytes(b"\xef\xbb\xbfA=file\nEMPTY=\nUNASKED=1\n")
    environ = {"A": "environment", "B": "environment", "EMPTY": "environment", "PATH": "/bin"}
    found = resolve(["A", "B", "EMPTY"], file, environ)
    assert found == {"A": "file", "B": "environment", "EMPTY": "environment"}


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A=1\n")))
    assert resolve(["A"], "-", {}) == {"A": "1"}


def test_a_process_without_standard_input_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input"):
        resolve(["A"], "-", {})


def test_all_missing_ones_are_told_together_with_what_to_do() -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(["A", "B", "C"], None, {"B": "sk-12345", "C": ""})
    assert [problem.path for problem in caught.value.problems] == ["A", "C"]
    assert "--secrets-file" in caught.value.problems[0].fix
    assert "12345" not in str(caught.value)


def test_no_names_need_nothing() -> None:
    assert resolve([], None, {}) == {}


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absent"):
        resolve(["A"], tmp_path / "absent", {})


def test_a_file_that_is_not_utf_8_is_told_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_bytes(b"A=1\nB=sk-12345\xff\n")
    with pytest.raises(InvalidInput) as caught:
        resolve(["A"], file, {})
    assert "line 2" in str(caught.value)
    assert "12345" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(UsageError, match="1 MiB"):
        resolve(["A"], Path("/dev/zero"), {})


@given(st.text(alphabet=st.sampled_from("AB=\"'\\\n\r #\t$exportx\0é"), max_size=60))
def test_no_text_whatever_raises_anything_but_invalid_input(text: str) -> None:
    try:
        found = dotenv(text)
    except InvalidInput:
        return
    assert all(isinstance(value, str) for value in found.values())


@given(st.text(max_size=40).filter(lambda value: "'" not in value and "\0" not in value and "\r" not in value))
def test_a_value_in_single_quotes_comes_back_as_it_is(value: str) -> None:
    assert dotenv(f"A='{value}'\nB=1") == {"A": value, "B": "1"}
