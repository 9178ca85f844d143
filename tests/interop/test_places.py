"""A run from elsewhere names no files of this machine but those of its results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import Evaluation

from mesocosm.interop.places import settled


@pytest.mark.parametrize("place", ["/etc/passwd", "results/../../x", "", "a\0b", 7, None, ["x"]])
def test_what_does_not_lie_below_the_results_is_forgotten(
    place: Any, evaluation: Callable[..., Evaluation], tmp_path: Path
) -> None:
    run = evaluation(log=place, artifacts=place, entrypoint="main.py").run
    assert settled(run, tmp_path / "results").spec.benchmark.options == {"entrypoint": "main.py"}


def test_a_link_that_leads_away_is_forgotten(evaluation: Callable[..., Evaluation], tmp_path: Path) -> None:
    (tmp_path / "results" / "away").symlink_to("/etc")
    run = evaluation(log=str(tmp_path / "results" / "away" / "passwd")).run
    assert settled(run, tmp_path / "results").spec.benchmark.options == {}


def test_what_lies_below_the_results_is_kept(evaluation: Callable[..., Evaluation], tmp_path: Path) -> None:
    run = evaluation(artifacts=str(tmp_path / "results" / "artifacts")).run
    assert settled(run, tmp_path / "results") is run
