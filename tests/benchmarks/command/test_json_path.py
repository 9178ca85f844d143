"""JSON paths: what they mean, and what is said where they lead to nothing."""

from typing import Any

import pytest

from mesocosm.benchmarks.json_path import PathNotFound, look_up, parse_path
from mesocosm.core.failure import UsageError

DOCUMENT = {"a": {"b c": [1, {"d": None}], 'q"': 2}, "x.y": 3, "list": [[4, 5]], "0": 6}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("list[0][-1]", 5),
        ('a."b c"[0]', 1),
        ('$.a."b c"[1].d', None),
        ('a."q\\""', 2),
        ('"x.y"', 3),
        ("0", 6),
        ("$", DOCUMENT),
    ],
)
def test_a_path_leads_to_its_value(path: str, value: Any) -> None:
    assert look_up(DOCUMENT, parse_path(path)) == value


@pytest.mark.parametrize("path", ["list[2]", "list.0", "a[0]", "a.b", "list[0][0].x", "list[-2]"])
def test_a_path_that_leads_nowhere_says_where_it_breaks_off(path: str) -> None:
    with pytest.raises(PathNotFound, match="there is no"):
        look_up(DOCUMENT, parse_path(path))


@pytest.mark.parametrize("text", ["", "a..b", ".a", "a.", "a[", "a[x]", "a b", 'a."b', "a]b", "$a.b c", "a[0]b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a JSON path"):
        parse_path(text)


def test_a_root_sign_is_a_name_where_no_dot_follows() -> None:
    assert parse_path("$a") == ("$a",)
