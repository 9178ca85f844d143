"""Costly answers are kept for some seconds, cheap ones are not."""

from collections.abc import Iterator

from mesocosm.server.runs.lately import MOST, Lately


class Clock:
    """A clock that goes on only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def answers(clock: Clock, cost: float) -> Iterator[int]:
    """Yield 1, 2, 3 … and let each take `cost` seconds."""
    number = 0
    while True:
        number += 1
        clock.now += cost
        yield number


def test_a_costly_answer_is_kept_for_its_time() -> None:
    clock = Clock()
    made, lately = answers(clock, 1.0), Lately[int](kept=5.0, cheap=0.5, clock=clock)
    assert [lately.get("a", made.__next__) for _ in range(3)] == [1, 1, 1]
    clock.now += 5.0
    assert lately.get("a", made.__next__) == 2


def test_a_cheap_answer_is_always_new() -> None:
    clock = Clock()
    made, lately = answers(clock, 0.5), Lately[int](kept=5.0, cheap=0.5, clock=clock)
    assert [lately.get("a", made.__next__) for _ in range(3)] == [1, 2, 3]


def test_answers_of_different_keys_are_different() -> None:
    clock = Clock()
    made, lately = answers(clock, 1.0), Lately[int](kept=50.0, cheap=0.5, clock=clock)
    assert [lately.get(key, made.__next__) for key in "abab"] == [1, 2, 1, 2]


def test_only_so_many_answers_are_kept() -> None:
    clock = Clock()
    made, lately = answers(clock, 1.0), Lately[int](kept=1e9, cheap=0.5, clock=clock)
    for key in range(MOST + 1):
        lately.get(str(key), made.__next__)
    assert lately.get(str(MOST), made.__next__) == MOST + 1
    assert lately.get("0", made.__next__) == MOST + 2


def test_what_was_forgotten_is_made_anew() -> None:
    made: list[int] = []
    answers = Lately[int](cheap=-1.0)

    def make() -> int:
        made.append(len(made))
        return len(made)

    assert [answers.get("a", make), answers.get("a", make)] == [1, 1]
    answers.forget("a")
    assert answers.get("a", make) == 2
