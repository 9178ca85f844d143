"""How often something was tried lately."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from mesocosm.store import open_store
from mesocosm.store import rate_limits as module
from mesocosm.store.rate_limits import RateLimits


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=9_000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


@pytest.fixture
def attempts(tmp_path: Path) -> Iterator[RateLimits]:
    store = open_store(tmp_path)
    yield store.rate_limits
    store.close()


def test_so_many_tries_are_free_and_the_next_one_waits(attempts: RateLimits, clock: SimpleNamespace) -> None:
    assert [attempts.allow("login", 2, 60) == 0 for _ in range(4)] == [True, True, False, False]


def test_after_the_wait_one_more_is_free(attempts: RateLimits, clock: SimpleNamespace) -> None:
    for most in (1, 3):
        key = f"login {most}"
        for _ in range(most):
            attempts.allow(key, most, 60)
        wait = attempts.allow(key, most, 60)
        clock.now += wait - 0.1
        assert attempts.allow(key, most, 60) > 0
        clock.now += 0.2
        assert attempts.allow(key, most, 60) == 0


@pytest.mark.parametrize("most", [1, 5, 40])
def test_no_window_of_the_length_holds_many_more_than_allowed(
    attempts: RateLimits, clock: SimpleNamespace, most: int
) -> None:
    taken = []
    for _ in range(150):
        clock.now += 1.0
        if attempts.allow("login", most, 60) == 0:
            taken.append(clock.now)
    within = [sum(start <= at < start + 60 for at in taken) for start in taken]
    assert most <= max(within) <= 2 * most


def test_keys_are_counted_apart(attempts: RateLimits, clock: SimpleNamespace) -> None:
    assert [attempts.allow(key, 1, 60) == 0 for key in ("ada", "eve", "x" * 500, "x" * 501)] == [True] * 4
    assert attempts.allow("x" * 500, 1, 60) > 0


def test_a_try_under_several_keys_counts_under_none_when_one_is_used_up(
    attempts: RateLimits, clock: SimpleNamespace
) -> None:
    attempts.allow("name", 1, 60)
    assert attempts.allow_all({"name": 1, "address": 1}, 60) > 0
    assert attempts.allow("address", 1, 60) == 0


def test_a_try_that_is_taken_back_is_free_again(attempts: RateLimits, clock: SimpleNamespace) -> None:
    attempts.allow_all({"name": 1, "address": 1}, 60)
    attempts.take_back(["name", "address"], 60)
    assert attempts.allow_all({"name": 1, "address": 1}, 60) == 0
    assert attempts.allow("name", 1, 60) > 0


def test_what_is_forgotten_counts_from_zero(attempts: RateLimits, clock: SimpleNamespace) -> None:
    attempts.allow("name", 1, 60)
    attempts.forget("name")
    assert attempts.allow("name", 1, 60) == 0


def test_nobody_gets_one_more_by_asking_at_once(attempts: RateLimits, clock: SimpleNamespace) -> None:
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: attempts.allow("name", 3, 60), range(16)))
    assert waits.count(0.0) == 3
