"""Synthetic evaluations with known truth: a 95 % interval contains it in 94 to 96 % of them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SIMULATION = Path(__file__).parents[2] / "perf" / "coverage.py"


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mesocosm_perf_coverage", SIMULATION)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "case",
    [
        "pass_rate",
        "mean_of_few",
        "mean_of_many",
        "mean_over_trials",
        "pass_rate_over_trials",
        "median_over_trials",
        "paired_pass_fail",
        "unpaired_pass_fail",
    ],
)
def test_95_percent_intervals_contain_the_truth_in_94_to_96_percent(simulation: ModuleType, case: str) -> None:
    assert 0.94 <= simulation.coverage(getattr(simulation, case), 4_000) <= 0.96


def test_the_simulation_notices_intervals_that_are_too_narrow(simulation: ModuleType) -> None:
    def overconfident(rng: object) -> object:
        interval, truth = simulation.mean_of_few(rng)
        low, high = ((interval.value + bound) / 2 for bound in (interval.low, interval.high))
        return simulation.stats.Interval(interval.value, low, high, interval.n, "half"), truth

    assert simulation.coverage(overconfident, 1_000) < 0.9
