"""pass^k of recorded rewards against the published figures; runs where the shared data lies beside the repository."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from mesocosm.stats import pass_hat_k

REWARDS = Path(__file__).parents[2].parent / "shared" / "data" / "tau_bench" / "gpt-4o-airline-rewards.csv"


@pytest.fixture
def counts() -> list[tuple[int, int]]:
    """Trials and passes of each task."""
    if not REWARDS.is_file():
        pytest.skip(f"the recorded rewards are not here: {REWARDS}")
    trials: dict[str, list[float]] = defaultdict(list)
    with REWARDS.open(newline="") as file:
        for row in csv.DictReader(file):
            trials[row["task_id"]].append(float(row["reward"]))
    return [(len(rewards), sum(reward == 1 for reward in rewards)) for rewards in trials.values()]


@pytest.mark.parametrize(("k", "published"), [(1, 0.420), (2, 0.273), (3, 0.220), (4, 0.200)])
def test_pass_hat_k_is_the_published_one(counts: list[tuple[int, int]], k: int, published: float) -> None:
    found = pass_hat_k(counts, k)
    assert found.interval.value == pytest.approx(published, abs=5e-4)
    assert (found.tasks, found.skipped) == (50, 0)
    assert found.interval.low < published < found.interval.high
