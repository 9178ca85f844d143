"""When schedules are due: cron in time zones, and where the clocks change."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.server.schedules.times import LONGEST_CRON, cron_fault, next_time, next_times, timezone_fault

BERLIN = "Europe/Berlin"


def at(text: str, zone: str = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def due(cron: str, after: float, count: int, zone: str = BERLIN) -> list[str]:
    """Return the next times in UTC."""
    found = islice(next_times(cron, zone, after), count)
    return [datetime.fromtimestamp(one, UTC).strftime("%m-%d %H:%M") for one in found]


@pytest.mark.parametrize(
    "cron", ["0 3 * * *", "*/15 9-17 * * 1-5", "@daily", "0 0 L * *", "0 0 29 2 *", "0 0 * * MON#1"]
)
def test_expressions_of_cron_are_accepted(cron: str) -> None:
    assert cron_fault(cron) == ""


@pytest.mark.parametrize(
    ("cron", "told"),
    [
        ("", "five fields"),
        ("0 3 * *", "five fields"),
        ("0 0 3 * * *", "five fields"),
        ("@reboot", "five fields"),
        ("60 3 * * *", "bad minute"),
        ("0 3 * * MO", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("* * */20 * 1L", "no time in the next 50 years"),
        ("0 " * LONGEST_CRON, "more than 200 characters"),
    ],
)
def test_what_is_no_time_is_refused_with_the_reason(cron: str, told: str) -> None:
    assert told in cron_fault(cron)


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789*/,-#LW MONTUEJAN@²\x00", max_size=30) | st.text(max_size=30))
def test_any_text_is_either_refused_or_has_a_next_time(cron: str) -> None:
    if cron_fault(cron):
        return
    found = next_time(cron, BERLIN, 0.0)
    assert found is None or found > 0.0


@pytest.mark.parametrize("name", ["UTC", BERLIN, "America/New_York", "Asia/Kathmandu"])
def test_time_zones_are_those_of_iana(name: str) -> None:
    assert timezone_fault(name) == ""


@pytest.mark.parametrize("name", ["", "CET+1", "../../etc/passwd", "localtime", "\x00", "x" * 500])
def test_other_time_zones_are_refused(name: str) -> None:
    assert "there is no time zone" in timezone_fault(name)
    assert len(timezone_fault(name)) < 250


def test_the_right_spelling_of_a_time_zone_is_named() -> None:
    assert "did you mean Europe/Berlin?" in timezone_fault("europe/berlin")


def test_times_are_those_of_the_time_zone() -> None:
    assert due("0 3 * * *", at("2026-01-10T12:00"), 2) == ["01-11 02:00", "01-12 02:00"]
    assert due("0 3 * * *", at("2026-07-10T12:00"), 1) == ["07-11 01:00"]
    assert due("30 5 * * *", at("2026-01-10T12:00", "Asia/Kathmandu"), 1, "Asia/Kathmandu") == ["01-10 23:45"]


def test_the_time_itself_is_not_the_next_one() -> None:
    assert next_time("0 3 * * *", BERLIN, at("2026-01-10T03:00")) == at("2026-01-11T03:00")


def test_a_time_that_the_clocks_skip_is_the_moment_after() -> None:
    # On 29 March 2026 2:00 is followed by 3:00, which is 1:00 UTC.
    assert due("30 2 * * *", at("2026-03-28T12:00"), 2) == ["03-29 01:00", "03-30 00:30"]
    assert due("0,30 2 * * *", at("2026-03-28T12:00"), 3) == ["03-29 01:00", "03-30 00:00", "03-30 00:30"]
    assert due("30 2 * * *", at("2026-03-29T03:00"), 1) == ["03-30 00:30"]


def test_a_time_that_comes_twice_is_due_at_the_first() -> None:
    # On 25 October 2026 3:00 is followed by 2:00; the first 2:30 is 0:30 UTC.
    assert due("30 2 * * *", at("2026-10-24T12:00"), 2) == ["10-25 00:30", "10-26 01:30"]
    assert due("30 2 * * *", at("2026-10-25T02:15", fold=1), 1) == ["10-26 01:30"]


def test_what_runs_every_few_minutes_runs_by_elapsed_time() -> None:
    assert due("*/30 * * * *", at("2026-03-29T01:15"), 3) == ["03-29 00:30", "03-29 01:00", "03-29 01:30"]
    assert due("*/30 * * * *", at("2026-10-25T02:15"), 4) == [
        *("10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00")
    ]
