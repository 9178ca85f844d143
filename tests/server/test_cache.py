"""The server's cache: what it keeps, for how long, and that a value is made once for all who ask."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mesocosm.server.cache import Cache, a_while


class Clock:
    """A clock that goes on only when it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def values(clock: Clock, cost: float) -> Iterator[int]:
    """Yield 1, 2, 3 … and let each take `cost` seconds."""
    number = 0
    while True:
        number += 1
        clock.now += cost
        yield number


def test_a_value_is_kept_for_its_time() -> None:
    clock = Clock()
    made, cache = values(clock, 1.0), Cache[int](seconds=5.0, clock=clock)
    assert [cache.get("a", made.__next__) for _ in range(3)] == [1, 1, 1]
    clock.now += 5.0
    assert cache.get("a", made.__next__) == 2


@pytest.mark.parametrize(("cost", "made"), [(0.02, [1, 2, 3]), (0.03, [1, 1, 1])])
def test_a_value_lasts_as_long_as_its_cost_says(cost: float, made: list[int]) -> None:
    clock = Clock()
    numbers, cache = values(clock, cost), Cache[int](clock=clock)
    assert [cache.get("a", numbers.__next__, lasts=a_while) for _ in range(3)] == made


def test_a_value_of_the_same_version_stays_when_its_time_is_over() -> None:
    clock = Clock()
    made, cache = values(clock, 0.0), Cache[int](seconds=0.0, clock=clock)
    assert [cache.get("a", made.__next__, version=version) for version in (7, 7, 8, 7)] == [1, 1, 2, 3]


def test_a_value_of_another_version_is_good_until_its_time_is_over() -> None:
    clock = Clock()
    made, cache = values(clock, 1.0), Cache[int](clock=clock)
    assert [cache.get("a", made.__next__, version=number, lasts=lambda cost: 20 * cost) for number in (1, 2)] == [1, 1]
    clock.now += 20.0
    assert cache.get("a", made.__next__, version=3) == 2


def test_nothing_is_kept_of_what_is_not_there_or_could_not_be_made() -> None:
    cache = Cache[str]()

    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("a", fail)
    assert cache.get("a", lambda: "there") == "there"
    assert Cache[str | None]().find("b") is None


def test_values_used_longest_ago_are_dropped_first() -> None:
    cache, made = Cache[bytes](room=10), []

    def make(text: str) -> Callable[[], bytes]:
        def value() -> bytes:
            made.append(text)
            return text.encode()

        return value

    for word in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb"):
        assert cache.get(word, make(word)) == word.encode()
    assert made == ["aaaa", "bbbb", "cccc", "bbbb"]
    few = Cache[int](2)
    for number in range(3):
        few.keep(number, number)
    assert [few.find(number) for number in range(3)] == [None, 1, 2]


def test_a_value_without_room_is_not_kept() -> None:
    cache = Cache[bytes](room=3)
    cache.keep("a", b"large")
    assert cache.find("a") is None


def test_a_forgotten_value_is_made_anew() -> None:
    made, cache = values(Clock(), 0.0), Cache[int]()
    assert [cache.get("a", made.__next__), cache.get("a", made.__next__)] == [1, 1]
    cache.forget("a")
    assert cache.get("a", made.__next__) == 2


def test_threads_that_ask_for_the_same_value_wait_for_one_of_them() -> None:
    cache, going, made = Cache[int](), threading.Event(), []

    def make() -> int:
        made.append(1)
        going.wait(60)
        return 1

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(cache.get, "a", make) for _ in range(4)]
        going.set()
        assert [found.result(20) for found in waiting] == [1, 1, 1, 1]
    assert made == [1]
