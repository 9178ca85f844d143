"""Grader and people side by side."""

import math
import random

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, InvalidInput, UsageError
from mesocosm.core.score import Score
from mesocosm.rollouts.calibration import HumanLabel, ScoredAnswer, calibrate, matched, read_labels


def pairs(judged: list[float], human: list[float]) -> list[ScoredAnswer]:
    return [ScoredAnswer(str(task), *both) for task, both in enumerate(zip(judged, human, strict=True))]


def table(both: int, grader_only: int, human_only: int, neither: int) -> list[ScoredAnswer]:
    cells = [(1.0, 1.0)] * both + [(1.0, 0.0)] * grader_only + [(0.0, 1.0)] * human_only + [(0.0, 0.0)] * neither
    return pairs([one for one, _ in cells], [other for _, other in cells])


def test_kappa_of_a_published_table() -> None:
    """Of [[20, 5], [10, 15]] kappa is 0.4, and its error that of Fleiss, Cohen & Everitt 1969, formula 13."""
    from scipy import stats

    found = calibrate(table(20, 5, 10, 15))
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(0.4)
    p_o, rows, columns = 0.7, (0.5, 0.5), (0.6, 0.4)
    kappa, chance = 0.4, 0.5
    diagonal = sum(
        cell * (1 - (row + column) * (1 - kappa)) ** 2
        for cell, row, column in zip((0.4, 0.3), rows, columns, strict=True)
    )
    off = (1 - kappa) ** 2 * (0.1 * (columns[0] + rows[1]) ** 2 + 0.2 * (columns[1] + rows[0]) ** 2)
    error = math.sqrt(diagonal + off - (kappa - chance * (1 - kappa)) ** 2) / ((1 - chance) * math.sqrt(50))
    margin = error * math.sqrt(50 / 49) * stats.t.ppf(0.975, 49)
    assert p_o == found.agreement.value
    assert (found.kappa.low, found.kappa.high) == pytest.approx((kappa - margin, kappa + margin), abs=1e-9)


def test_the_four_counts() -> None:
    confusion = calibrate(table(4, 3, 2, 1)).confusion
    assert (confusion.both, confusion.grader_only, confusion.human_only, confusion.neither) == (4, 3, 2, 1)
    assert confusion.agreeing == 5


def test_agreement_has_wilsons_interval() -> None:
    from scipy import stats

    found = calibrate(table(20, 5, 10, 15)).agreement
    expected = stats.binomtest(35, 50).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_correlations_are_scipys() -> None:
    from scipy import stats

    rng = random.Random(5)
    human = [rng.choice([0.0, 0.25, 0.5, 0.75, 1.0]) for _ in range(80)]
    judged = [0.6 * score + 0.4 * rng.random() for score in human]
    found = calibrate(pairs(judged, human))
    assert found.pearson is not None
    assert found.spearman is not None
    expected = stats.pearsonr(judged, human)
    assert found.pearson.value == pytest.approx(expected.statistic)
    assert (found.pearson.low, found.pearson.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.spearman.value == pytest.approx(stats.spearmanr(judged, human).statistic)
    assert found.spearman.low < found.spearman.value < found.spearman.high


def test_bias_is_signed() -> None:
    found = calibrate(pairs([0.9, 0.8, 0.7, 1.0], [0.5, 0.6, 0.5, 0.8]))
    assert found.bias.value == pytest.approx(0.25)
    assert found.bias.low > 0


def test_trials_of_a_task_are_no_independent_labels() -> None:
    alone = table(20, 5, 10, 15)
    copied = [pair for pair in alone for _ in range(10)]
    once, often = calibrate(alone), calibrate(copied)
    assert (often.n, often.tasks) == (500, 50)
    assert often.agreement.high - often.agreement.low == pytest.approx(
        once.agreement.high - once.agreement.low, rel=0.1
    )
    assert once.kappa is not None
    assert often.kappa is not None
    assert often.kappa.high - often.kappa.low == pytest.approx(once.kappa.high - once.kappa.low, rel=0.1)


def test_the_suggested_threshold_agrees_most() -> None:
    found = calibrate(pairs([0.1, 0.2, 0.6, 0.7, 0.9], [0.0, 0.0, 0.0, 1.0, 1.0]))
    assert found.suggested.threshold == pytest.approx(0.65)
    assert found.suggested.agreement == 1.0


def test_a_threshold_that_cannot_be_bettered_stays() -> None:
    assert calibrate(pairs([0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]), threshold=0.55).suggested.threshold == 0.55


def test_a_harsh_grader_may_let_everything_pass() -> None:
    found = calibrate(pairs([0.1, 0.2, 0.3], [1.0, 1.0, 1.0]))
    assert found.suggested.threshold == pytest.approx(0.1)
    assert found.suggested.agreement == 1.0


def test_few_labels_are_said_to_be_few() -> None:
    assert any("only 4" in line for line in calibrate(table(1, 1, 1, 1)).warnings)
    assert not any("only" in line for line in calibrate(table(20, 5, 10, 15)).warnings)


def test_what_does_not_exist_is_none_with_a_reason() -> None:
    found = calibrate(pairs([1.0] * 40, [1.0] * 40))
    assert (found.kappa, found.pearson, found.spearman) == (None, None, None)
    assert len(found.warnings) == 2


def test_one_label_claims_nothing() -> None:
    found = calibrate(pairs([0.9], [1.0]))
    assert not found.bias.bounded
    assert found.agreement.low < 0.5


def test_without_pairs_there_is_nothing_to_calibrate() -> None:
    with pytest.raises(UsageError, match="nothing to calibrate"):
        calibrate([])


def test_labels_on_their_own_scale_become_0_to_1() -> None:
    rows: list[dict[str, object]] = [
        {"row": "3", "score": "1"},
        {"row": 4.0, "score": 5},
        {"task": "x", "human": 3, "trial": "2"},
    ]
    assert read_labels(rows, "labels.csv", low=1, high=5) == [
        HumanLabel("3", None, 0.0),
        HumanLabel("4", None, 1.0),
        HumanLabel("x", 2, 0.5),
    ]


def test_words_are_labels_too() -> None:
    assert [label.score for label in read_labels([{"row": 1, "label": "Yes"}, {"row": 2, "label": "fail"}], "f")] == [
        1,
        0,
    ]


def test_all_problems_of_labels_are_told_together() -> None:
    rows: list[dict[str, object]] = [
        {"row": 1, "score": "good"},
        {"score": 1},
        {"row": 2, "score": 7},
        {"row": 3, "score": 1, "trial": 0.5},
    ]
    with pytest.raises(InvalidInput) as caught:
        read_labels([*rows, {"row": 9, "score": 1}, {"row": 9, "score": 0}], "labels.csv")
    assert [problem.path for problem in caught.value.problems] == ["row 1", "row 2", "row 3", "row 4", "row 6"]


def test_a_scale_upside_down_is_refused() -> None:
    with pytest.raises(UsageError, match="lower end"):
        read_labels([], "f", low=5, high=1)


def episode(task: str, trial: int, score: Score) -> Episode:
    return Episode(id=f"{task}.{trial}", run_id="r", task_digest=task, task_id=task, trial=trial, scores=(score,))


def test_labels_find_their_episodes() -> None:
    episodes = [
        episode("1", 0, Score("reward", 0.25)),
        episode("1", 1, Score("reward", 0.5)),
        episode("2", 0, Score("reward", missing=Cause.GRADER_ERROR)),
        episode("3", 0, Score("reward", 0.0, worst=True)),
    ]
    labels = [
        HumanLabel("1", None, 1.0),
        HumanLabel("2", None, 0.0),
        HumanLabel("3", 0, 0.0),
        HumanLabel("1", 7, 0.5),
        HumanLabel("8", None, 1.0),
    ]
    found = matched(labels, episodes, "reward")
    assert found.pairs == (ScoredAnswer("1", 0.25, 1.0), ScoredAnswer("1", 0.5, 1.0))
    assert found.unknown == ("1 (trial 7)", "8")
    assert found.unscored == ("2 (trial 0)", "3 (trial 0)")
