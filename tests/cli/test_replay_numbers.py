"""Numbers of a replay file: those that its episodes give, or marked as nobody's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.conftest import Invoke, Played

from mesocosm.core.run import Run, RunStatus
from mesocosm.store import open_store

JSON = dict[str, Any]
Import = Callable[[JSON], Any]


@pytest.fixture
def exported(mesocosm: Invoke, played: Played, tmp_path: Path) -> JSON:
    """The replay of a finished run of six episodes."""
    file = tmp_path / "exported.json"
    assert mesocosm("run", "export", "last", "-o", file, *played.there).code == 0
    found: JSON = json.loads(file.read_text())
    return found


@pytest.fixture
def take(mesocosm: Invoke, tmp_path: Path) -> Import:
    """Return what imports a replay into results of their own."""

    def taken(document: JSON) -> Any:
        file = tmp_path / "replay.json"
        file.write_text(json.dumps(document))
        return mesocosm("import", file, "--results-dir", tmp_path / "there")

    return taken


def stored(place: Path) -> Run:
    store = open_store(place / "there")
    try:
        return store.runs.get(store.runs.list().items[0].id)
    finally:
        store.close()


def test_the_numbers_of_a_replay_are_those_of_the_run(
    exported: JSON, take: Import, mesocosm: Invoke, played: Played, tmp_path: Path
) -> None:
    assert take(exported).code == 0
    run = stored(tmp_path)
    assert run.metrics == played.run.metrics
    assert not run.unverified
    assert "in doubt" not in mesocosm("run", "list", "--results-dir", tmp_path / "there").out


def test_a_replay_of_another_system_names_its_model_as_it_likes(exported: JSON, take: Import, tmp_path: Path) -> None:
    exported["run"]["model"] = exported["run"]["config"]["agent_config"]["model"] = "gpt-4o"
    assert take(exported).code == 0
    assert stored(tmp_path).model == "gpt-4o"


def test_a_replay_whose_numbers_are_not_those_of_its_episodes_is_refused(exported: JSON, take: Import) -> None:
    for metric in exported["run"]["metrics"]:
        metric.update(value=0.25, low=0.2, high=0.3)
    refused = take(exported)
    assert refused.code == 2
    assert "is stored as 0.25, its episodes give 1.0" in refused.err


def test_intervals_of_a_replay_are_computed_and_not_taken(
    exported: JSON, take: Import, played: Played, tmp_path: Path
) -> None:
    for metric in exported["run"]["metrics"]:
        metric.update(low=0.99, high=1.0)
    assert take(exported).code == 0
    assert stored(tmp_path).metrics == played.run.metrics


def test_a_replay_that_does_not_say_how_it_was_scored_is_refused_where_its_scores_have_another_mean(
    exported: JSON, take: Import
) -> None:
    del exported["run"]["scoring"]
    for metric in exported["run"]["metrics"]:
        metric.update(aggregation="mean", value=0.25)
    refused = take(exported)
    assert refused.code == 2
    assert "its episodes give" in refused.err


@pytest.fixture
def foreign(exported: JSON) -> JSON:
    """A replay whose episodes carry no scores."""
    del exported["run"]["scoring"]
    for episode in exported["episodes"]:
        episode["scores"] = {}
    for metric in exported["run"]["metrics"]:
        metric.update(value=0.97, low=0.93, high=0.99)
    return exported


def test_numbers_that_no_episode_bears_out_are_marked_and_have_no_rank(
    foreign: JSON, take: Import, tmp_path: Path
) -> None:
    assert take(foreign).code == 0
    run = stored(tmp_path)
    assert run.unverified
    assert any("cannot be computed from its episodes" in warning for warning in run.warnings)
    assert run.doubt


@pytest.mark.parametrize("condition", ["score<0.9", "missing>2%", "worse-by<0.02"])
def test_no_gate_passes_on_numbers_that_no_episode_bears_out(
    foreign: JSON, take: Import, mesocosm: Invoke, tmp_path: Path, condition: str
) -> None:
    assert take(foreign).code == 0
    judged = mesocosm("gate", "last", "--fail-if", condition, "--results-dir", tmp_path / "there")
    assert judged.code != 0


def test_a_gate_cannot_tell_of_numbers_that_no_episode_bears_out(
    foreign: JSON, take: Import, mesocosm: Invoke, tmp_path: Path
) -> None:
    assert take(foreign).code == 0
    judged = mesocosm("gate", "last", "--fail-if", "score<0.9", "--results-dir", tmp_path / "there")
    assert judged.code == 3
    assert "came with a file" in judged.out


@pytest.mark.parametrize(
    "scoring",
    [
        {"metrics": "x"},
        {"metrics": [{"name": "reward", "score": "total", "aggregation": "magic"}]},
        {"unscored": "x"},
        {"unscored": -1},
        {"parts": {"total": "x"}},
        {"planned": 10**30},
        {"planned": 10**7},
        {"planned": "many"},
        {"unscored": 3},
        [1],
    ],
    ids=str,
)
def test_a_replay_that_says_something_impossible_of_its_scoring_is_refused(
    exported: JSON, take: Import, scoring: Any
) -> None:
    told = exported["run"]["scoring"]
    exported["run"]["scoring"] = told | scoring if isinstance(scoring, dict) else scoring
    refused = take(exported)
    assert (refused.code, "defect" in refused.err) == (2, False)
    assert "damaged" in refused.err or "may be missing" in refused.err


def test_a_replay_that_lacks_more_than_a_run_may_is_partial(exported: JSON, take: Import, tmp_path: Path) -> None:
    exported["run"]["scoring"]["planned"] = 100
    del exported["run"]["metrics"]
    assert take(exported).code == 0
    assert stored(tmp_path).status is RunStatus.PARTIAL


@pytest.mark.parametrize(
    "provenance",
    [
        {"doubt": "no call"},
        {"rescoring": True, "rescored_with": "easier", "graded_with": "easier"},
        {"rescoring": True, "rescored_with": "", "graded_with": ""},
    ],
    ids=["doubt", "rescoring", "rescoring without a digest"],
)
def test_a_doubt_about_a_run_goes_with_its_replay(
    take: Import, mesocosm: Invoke, mine: Played, tmp_path: Path, provenance: JSON
) -> None:
    store = open_store(mine.results)
    doubtful = mine.run
    store.runs.save(msgspec.structs.replace(doubtful, provenance={**doubtful.provenance, **provenance}))
    store.close()
    file = tmp_path / "doubtful.json"
    assert mesocosm("run", "export", "last", "-o", file, *mine.there).code == 0
    assert take(json.loads(file.read_text())).code == 0
    taken = stored(tmp_path)
    rules = provenance.get("graded_with", "") or ("unknown" if "rescoring" in provenance else "")
    assert (taken.doubt, taken.rules) == (mine.run.doubt, rules)
    assert any(taken.doubt in warning for warning in taken.warnings)
    (listed,) = mesocosm("run", "list", "--json", *mine.there).document["items"]
    assert listed["doubt"] == taken.doubt


@pytest.mark.parametrize("regraded", [None, ""])
def test_a_replay_that_was_being_rescored_with_unknown_content_says_so(
    exported: JSON, take: Import, tmp_path: Path, regraded: str | None
) -> None:
    exported["run"]["scoring"] |= {"rescoring": True, **({} if regraded is None else {"regraded": regraded})}
    assert take(exported).code == 0
    taken = stored(tmp_path)
    assert taken.rescored.startswith("is being rescored with content unknown, or that was cut off")
    assert taken.regraded  # so that it is not continued


def test_verify_says_that_imported_numbers_were_compared_with_nothing(
    foreign: JSON, take: Import, mesocosm: Invoke, tmp_path: Path
) -> None:
    assert take(foreign).code == 0
    there = ("--results-dir", tmp_path / "there")
    assert "in doubt" in mesocosm("run", "list", *there).out
    verified = mesocosm("verify", *there)
    assert "cannot be compared with its episodes" in verified.out


def test_a_failure_of_the_agent_is_still_one_after_the_journey(exported: JSON, take: Import, tmp_path: Path) -> None:
    (episode, *_), (metric, *_) = exported["episodes"], exported["run"]["metrics"]
    names = list(episode["scores"])
    episode |= {"scores": dict.fromkeys(names), "unscored": dict.fromkeys(names, "worst")}
    exported["run"]["metrics"] = []
    assert take(exported).code == 0
    found = next(one for one in stored(tmp_path).metrics if one.name == metric["name"])
    assert (found.n_scored, found.n_worst) == (6, 1)
    assert found.value == pytest.approx(5 / 6)


def test_what_was_planned_and_not_run_is_known_after_the_journey(exported: JSON, take: Import, tmp_path: Path) -> None:
    gone = exported["episodes"].pop()["id"]
    exported["traces"].pop(gone)
    exported["replay"].pop(gone)
    exported["run"].update(status="cancelled", metrics=[])
    assert take(exported).code == 0
    run = stored(tmp_path)
    assert (run.status, run.counts.planned, run.metrics[0].missing) == (RunStatus.STOPPED, 6, {"not_run": 1})
