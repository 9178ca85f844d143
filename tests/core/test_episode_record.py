"""When an episode says something about the agent."""

import pytest

from mesocosm.core.episode import FINISHED, SCOREABLE, Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import RULES, Cause, EpisodeError


def episode(status: EpisodeStatus, cause: Cause | None = None) -> Episode:
    failure = None if cause is None else EpisodeError(cause, "why").failure()
    return Episode("e", "r", "digest", "task", trial=2, status=status, failure=failure)


@pytest.mark.parametrize("status", [EpisodeStatus.COMPLETED, EpisodeStatus.TRUNCATED, EpisodeStatus.TIMEOUT])
def test_an_ordinary_end_is_a_valid_measurement(status: EpisodeStatus) -> None:
    assert episode(status).valid
    assert status in SCOREABLE


@pytest.mark.parametrize("cause", Cause)
def test_a_failure_is_one_exactly_when_its_cause_is(cause: Cause) -> None:
    assert episode(EpisodeStatus.FAILED, cause).valid is RULES[cause].valid


@pytest.mark.parametrize("status", [EpisodeStatus.PENDING, EpisodeStatus.RUNNING, EpisodeStatus.CANCELLED])
def test_an_unfinished_episode_is_none_and_stays_owed(status: EpisodeStatus) -> None:
    assert not episode(status).valid
    assert status not in FINISHED


def test_a_failure_without_a_known_cause_is_none_but_finished() -> None:
    assert not episode(EpisodeStatus.FAILED).valid
    assert EpisodeStatus.FAILED in FINISHED


def test_its_identity_is_task_and_trial_alone() -> None:
    assert episode(EpisodeStatus.FAILED).key == EpisodeKey("digest", 2) == episode(EpisodeStatus.RUNNING).key
