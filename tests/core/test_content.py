"""Files that decide what a run measures, looked at again while it goes on."""

import pytest

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, UsageError

BEGUN = {"main.py": "1", "rows.csv": "2", "run.log": "3"}


def content(now: dict[str, str]) -> Content:
    return Content("rollout sums", BEGUN, lambda: now)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({**BEGUN, "main.py": "9"}, "main.py of rollout sums has changed since the run began"),
        ({"main.py": "1", "run.log": "3"}, "rows.csv of rollout sums has changed since the run began"),
        ({**BEGUN, "json.py": "4"}, "json.py of rollout sums has changed since the run began"),
        ({"new.py": "1"}, "main.py, new.py, rows.csv of rollout sums have changed since the run began"),
        (dict.fromkeys("abcde", "1"), "main.py, rows.csv of rollout sums have changed since the run began"),
    ],
)
def test_files_that_changed_or_went_and_new_code_are_named(now: dict[str, str], told: str) -> None:
    assert content(now).changed() == told


def test_a_long_list_of_changes_is_cut() -> None:
    many = Content("rollout sums", {f"{name}.csv": "1" for name in "abcde"}, dict)
    assert many.changed() == "a.csv, b.csv, c.csv and 2 more of rollout sums have changed since the run began"


@pytest.mark.parametrize("now", [BEGUN, {**BEGUN, "run.log": "9"}, {**BEGUN, "cache.json": "4"}])
def test_logs_and_new_data_are_no_change(now: dict[str, str]) -> None:
    assert content(now).changed() == ""


def test_files_that_cannot_be_read_any_more_have_changed() -> None:
    def read() -> dict[str, str]:
        raise UsageError("permission denied")

    assert Content("rollout sums", BEGUN, read).changed() == "rollout sums can no longer be read (permission denied)"


async def test_what_would_be_played_of_changed_files_stays_owed() -> None:
    await content(BEGUN).check()
    with pytest.raises(EpisodeError, match="Bring the old content back and resume the run") as caught:
        await content({}).check()
    assert caught.value.cause is Cause.CANCELLED


def test_readers_are_warned_of_a_change() -> None:
    assert content(BEGUN).warnings() == ()
    (warning,) = content({**BEGUN, "main.py": "9"}).warnings()
    assert warning.startswith("main.py of rollout sums has changed since the run began: what was read")
