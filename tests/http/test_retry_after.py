"""How long a server asks to wait."""

import pytest

from mesocosm.http.retry_after import LONGEST_S, retry_after


@pytest.mark.parametrize("name", ["retry-after", "retry-after-ms"])
@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e308",
        "1e999",
        "9" * 5_000,
        "",
        "١٢",
        "0x10",
        "soon",
        "Fri, 31 Dec 99999 23:59:59 GMT",
    ],
)
def test_what_is_no_time_asks_for_nothing(name: str, value: str) -> None:
    assert retry_after({name: value}.get) is None


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("retry-after", "2", 2.0),
        ("retry-after", "-1", 0.0),
        ("retry-after", "1e20", LONGEST_S),
        ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_S),
        ("retry-after", "Thu, 01 Jan 1970 00:00:00 -0000", 0.0),
        ("retry-after-ms", "1500", 1.5),
        ("retry-after-ms", "-5", 0.0),
        ("retry-after-ms", "1e20", LONGEST_S),
    ],
)
def test_a_time_is_within_a_day(name: str, value: str, seconds: float) -> None:
    assert retry_after({name: value}.get) == seconds


def test_an_unusable_time_gives_way_to_the_other_header() -> None:
    assert retry_after({"retry-after-ms": "nan", "retry-after": "3"}.get) == 3.0
