"""A record that was tampered with is noticed: otherwise finding nothing would mean nothing."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mesocosm.chaos.record import FindingKind, RecordComparison, ResultsRecord, outcome, read_record, same
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

EPISODES = 8
WORLD = """
from mesocosm.environments.sdk import BaseEnv, StepResult


class World(BaseEnv):
    title = "World"
    action_space = {"type": "discrete", "enum_values": ["left", "right"]}

    def reset(self, seed=None, **params):
        return {"seed": seed}

    def step(self, action):
        return StepResult({}, float(action == "left"), True, False, {})
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of one whole run. Do not change them."""
    place = tmp_path_factory.mktemp("played")
    (place / "world.py").write_text(WORLD)
    play(place)
    return place


def play(place: Path) -> None:
    spec = RunSpec(
        BenchmarkRef("python", f"{place / 'world.py'}:World"),
        ModelSettings("builtin/random"),
        selection=Selection(count=EPISODES),
    )
    with closing(open_store(place)) as store:
        asyncio.run(session.run(spec, store))


@pytest.fixture
def mine(played: Path, tmp_path: Path) -> Path:
    """Return a copy of the results that may be changed."""
    return shutil.copytree(played, tmp_path / "mine")


def tell(place: Path, *statements: str) -> None:
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def sorts(comparison: RecordComparison) -> dict[FindingKind, int]:
    found: dict[FindingKind, int] = {}
    for finding in comparison.findings:
        found[finding.sort] = found.get(finding.sort, 0) + finding.count
    return found


def concluded(
    calm: ResultsRecord, now: ResultsRecord, *, earlier: ResultsRecord | None = None, decidable: bool = True
) -> dict[FindingKind, int]:
    comparison = RecordComparison(calm, decidable)
    if earlier is not None:
        comparison.look(earlier, None)
    comparison.conclude(now, 0)
    return sorts(comparison)


def test_nothing_is_found_where_nothing_is_wrong(played: Path, mine: Path) -> None:
    calm = read_record(played)
    assert calm.episodes == EPISODES
    assert same(calm, read_record(mine))
    assert concluded(calm, read_record(mine)) == {}


def test_a_directory_without_results_is_empty(tmp_path: Path) -> None:
    assert read_record(tmp_path / "none") == ResultsRecord()


def test_an_episode_that_is_gone_is_lost_and_its_run_is_not_finished(played: Path, mine: Path) -> None:
    tell(mine, "PRAGMA foreign_keys = ON", "DELETE FROM episodes WHERE position = 3")
    found = concluded(read_record(played), read_record(mine))
    assert (found[FindingKind.LOST], found[FindingKind.UNTRUE]) == (1, 1)
    assert found[FindingKind.DAMAGED] >= 1


def test_an_episode_that_was_finished_before_and_is_gone_is_lost(played: Path, mine: Path) -> None:
    before = read_record(played)
    tell(mine, "PRAGMA foreign_keys = ON", "DELETE FROM episodes WHERE position = 3", "UPDATE runs SET chain = ''")
    comparison = RecordComparison(before)
    comparison.look(before, None)
    comparison.look(read_record(mine), None)
    assert sorts(comparison)[FindingKind.LOST] == 1


def test_a_score_that_differs_is_changed(played: Path, mine: Path) -> None:
    here = "SELECT id FROM episodes WHERE position = 3"
    tell(
        mine,
        f"UPDATE scores SET value = 0.5 WHERE episode_id = ({here})",
        "UPDATE episodes SET checksum = ''",
        "UPDATE runs SET chain = ''",
    )
    found = concluded(read_record(played), read_record(mine))
    assert found == {FindingKind.CHANGED: 1}


def test_a_value_cannot_be_told_changed_where_undisturbed_plays_differ(played: Path, mine: Path) -> None:
    tell(mine, "UPDATE scores SET value = 0.5", "UPDATE episodes SET checksum = ''", "UPDATE runs SET chain = ''")
    assert not same(read_record(played), read_record(mine))
    assert concluded(read_record(played), read_record(mine), decidable=False) == {}


def test_a_finished_run_with_another_number_is_untrue(played: Path, mine: Path) -> None:
    tell(mine, """UPDATE runs SET metrics = replace(metrics, '"n_scored":8', '"n_scored":7')""")
    assert concluded(read_record(played), read_record(mine)) == {FindingKind.UNTRUE: 1}


def test_exit_code_0_without_a_finished_run_is_untrue(played: Path) -> None:
    found = concluded(read_record(played), ResultsRecord())
    assert found == {FindingKind.UNTRUE: 1, FindingKind.UNREPAIRED: 1}


def test_a_run_that_is_not_finished_by_one_command_is_unrepaired(played: Path, mine: Path) -> None:
    tell(mine, "UPDATE runs SET status = 'stopped'")
    comparison = RecordComparison(read_record(played))
    comparison.conclude(read_record(mine), 3)
    assert sorts(comparison) == {FindingKind.UNREPAIRED: 1}


def test_a_finished_episode_with_another_id_was_played_twice(played: Path, mine: Path) -> None:
    before = read_record(played)
    tell(
        mine,
        f"UPDATE episodes SET id = '{new_id()}' WHERE position = 3",
        "UPDATE episodes SET checksum = ''",
        "UPDATE runs SET chain = ''",
    )
    assert concluded(before, read_record(mine), earlier=before)[FindingKind.TWICE] == 1


def test_a_second_run_of_the_same_experiment_was_played_twice(played: Path, mine: Path) -> None:
    shutil.copy(played / "world.py", mine / "world.py")
    with closing(open_store(mine)) as store:
        (run,) = store.runs.list().items
        asyncio.run(session.run(run.spec, store))
    assert concluded(read_record(played), read_record(mine)) == {FindingKind.TWICE: EPISODES}


def test_a_run_that_is_gone_is_lost(played: Path, tmp_path: Path) -> None:
    before = read_record(played)
    comparison = RecordComparison(before)
    comparison.look(before, None)
    comparison.look(read_record(tmp_path), None)
    assert sorts(comparison) == {FindingKind.LOST: EPISODES}


def test_results_that_cannot_be_opened_are_damaged(played: Path, mine: Path) -> None:
    (mine / DATABASE_NAME).write_bytes(b"\xa5" * 65536)
    assert FindingKind.DAMAGED in concluded(read_record(played), read_record(mine))


def test_outcomes_are_compared_by_scores_reward_and_cause(played: Path) -> None:
    (run,) = read_record(played).runs
    assert len({repr(outcome(episode)) for episode in run.done.values()}) > 1
