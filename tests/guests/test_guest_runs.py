"""Runs of guests as a whole: how often each task is played, by whom, and what is made of the run afterwards."""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.guests.conftest import HERE

import mesocosm as mc
from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.engine.rescoring import rescore_leased
from mesocosm.store import open_store
from mesocosm.testing.model_server import ModelServer

OF_THE_TESTS = f"""
import sys
from mesocosm.core.registry import SOURCES
sys.path.insert(0, {str(HERE.parents[1])!r})
from tests.guests.conftest import ADDER
from mesocosm.guests.opening import open_guest
SOURCES.register("adder")(lambda ref: open_guest(ADDER, ref))
"""


async def test_a_task_is_played_as_often_as_its_author_says(model: str, server: ModelServer) -> None:
    run = await mc.aevaluate("adder:sums", model=model, params={"trials": 3}, progress=False)
    assert [run.status, server.served, len(list(run.episodes()))] == ["finished", 15, 15]


async def test_the_user_says_otherwise(model: str, server: ModelServer) -> None:
    await mc.aevaluate("adder:sums", model=model, params={"trials": 3}, trials=1, progress=False)
    assert server.served == 5


def test_a_plan_says_how_often() -> None:
    planned = mc.plan("adder:sums", model="builtin/empty", params={"trials": 3})
    assert [planned.tasks, planned.episodes] == [5, 15]
    assert planned.notes == ("3 trials of each task, as its author sets them; trials= (--trials) sets others",)


def whole(runs: Sequence[str]) -> list[float | None]:
    """Return the number of the whole run, of runs of the test."""
    found = []
    with closing(open_store(Path(os.environ["MESOCOSM_RESULTS_DIR"]))) as store:
        for name in runs:
            metrics = store.runs.get(name).metrics
            found += [metric.value for metric in metrics if metric.name == "corpus"]
    return found


def rescored(run: mc.Run) -> Run:
    """Grade a run anew."""
    with closing(open_store(Path(os.environ["MESOCOSM_RESULTS_DIR"]))) as store:
        return rescore_leased(store.runs.get(run.id), store)


def test_numbers_of_the_whole_run_are_made_again_when_it_is_rescored(place: Path) -> None:
    run = mc.evaluate("adder:sums", model="builtin/empty", params={"whole": str(place / "lost")}, progress=False)
    assert whole([run.id]) == [10.0]
    assert [metric.value for metric in rescored(run).metrics if metric.name == "corpus"] == [10.0]


def test_one_that_cannot_be_made_again_is_missing_with_a_warning(place: Path) -> None:
    run = mc.evaluate("adder:sums", model="builtin/empty", params={"whole": str(place / "lost")}, progress=False)
    (place / "lost").touch()
    found = rescored(run)
    (corpus,) = (metric for metric in found.metrics if metric.name == "corpus")
    assert [corpus.value, corpus.n_scored, corpus.missing] == [None, 0, {"grader_error": 5}]
    assert "the corpus is lost" in found.warnings[-1]


@pytest.fixture
def in_workers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework of the tests in processes that Python starts."""
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(OF_THE_TESTS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place / "site"), *sys.path]))


@pytest.mark.usefixtures("in_workers")
async def test_other_processes_start_guests_of_their_own(model: str, server: ModelServer) -> None:
    run = await mc.aevaluate("adder:sums", model=model, executor="processes:2", progress=False)
    assert [run.status, run.score, server.served] == ["finished", 1.0, 5]
    with closing(open_store(Path(os.environ["MESOCOSM_RESULTS_DIR"]))) as store:
        assert sum(store.runs.get(run.id).ran_on.values()) == 5


async def test_rows_of_this_process_are_played_here(model: str) -> None:
    with pytest.raises(UsageError, match="exists in this process only"):
        await mc.aevaluate([{"q": "1"}], prompt="{q}", model=model, executor="processes:2", progress=False)
