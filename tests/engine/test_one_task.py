"""One task over all who tried it."""

from mesocosm.core.verdict import Verdict
from mesocosm.engine.comparison.one_task import Standing, TaskReading, Trial, read_task


def tries(player: str, verdicts: str, given: str = "", *, builtin: bool = False) -> list[Trial]:
    """Return trials of a model: `+` passed, `-` did not, `?` could not be measured."""
    known = {"+": Verdict.PASSED, "-": Verdict.NOT_PASSED, "?": Verdict.ERROR}
    scores = {"+": 1.0, "-": 0.0, "?": None}
    return [Trial(player, player, builtin, known[one], scores[one], given) for one in verdicts]


def reading(*groups: list[Trial], expected: str = "17") -> TaskReading:
    return read_task([one for group in groups for one in group], expected)


def test_a_task_that_all_solve_is_saturated() -> None:
    found = reading(tries("a", "+++"), tries("b", "+"))
    assert (found.standing, found.models, found.solved) == (Standing.SATURATED, 2, 2)
    assert "Solved by both models every time" in found.words


def test_a_task_that_chance_solves_too_is_told() -> None:
    found = reading(tries("a", "+"), tries("b", "+"), tries("random", "+", builtin=True))
    assert found.words.endswith("A built-in agent that knows nothing passes too.")


def test_a_task_that_none_solves_is_hard_or_broken() -> None:
    found = reading(tries("a", "--", "1"), tries("b", "-", "2"), tries("c", "-", "3"))
    assert (found.standing, found.solved) == (Standing.UNSOLVED, 0)
    assert found.words == "Solved by none of 3 models: too hard, or its reference is wrong."


def test_an_answer_that_most_models_give_is_held_against_the_reference() -> None:
    found = reading(tries("a", "-", "18"), tries("b", "---", "18.0"), tries("c", "-", "$18"), tries("d", "-", "5"))
    assert found.standing is Standing.DISPUTED
    assert found.words == "3 of 4 models answer 18, the reference says 17: look at the reference."


def test_without_the_right_answer_no_reference_is_doubted() -> None:
    assert reading(tries("a", "-", "18"), tries("b", "-", "18"), expected="").standing is Standing.UNSOLVED


def test_a_model_that_solves_it_now_and_then_is_noise() -> None:
    found = reading(tries("a", "+--"), tries("b", "++"), tries("c", "-"))
    assert (found.standing, found.models, found.solved) == (Standing.VARIES, 3, 1)
    assert (found.repeated, found.mixed) == (2, 1)
    assert [(one.player, one.passed, one.judged) for one in found.tried] == [("b", 2, 2), ("a", 1, 3), ("c", 0, 1)]


def test_built_in_agents_are_no_models() -> None:
    found = reading(tries("oracle", "+", builtin=True), tries("random", "-", builtin=True), tries("a", "+"))
    assert (found.standing, found.models) == (Standing.UNTRIED, 1)
    assert [one.player for one in found.tried] == ["a", "oracle", "random"]


def test_what_could_not_be_measured_is_not_a_trial_that_failed() -> None:
    found = reading(tries("a", "+?"), tries("b", "??"), tries("c", "+"))
    assert (found.models, found.standing) == (2, Standing.SATURATED)
    assert [one.share for one in found.tried if one.player == "b"] == [None]
