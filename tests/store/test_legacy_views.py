"""Rows of the older tables, in order, in pages, and straight from a file."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.store import Store, open_store
from mesocosm.store.legacy_list import read_ledger

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def fill(store: Store, samples: "Samples") -> list[tuple[str, str]]:
    """Add runs and skipped benchmarks of several agents; return (agent, run id) of all rows in order."""
    found = []
    for number in range(12):
        run = store.runs.add(samples.run(agent=f"agent-{number % 3}", created_at=1_000.0 + number))
        found.append((run.agent, run.id))
    store.groups.add(RunGroup("rg_1", 10.0))
    for position in range(4):
        agent = f"agent-{position % 2}"
        store.groups.save_outcome(Outcome("rg_1", position, "words", "words", OutcomeStatus.SKIPPED, agent=agent))
        found.append((agent, f"skip_rg_1_{position}"))
    return sorted(found)


@pytest.mark.parametrize("desc", [False, True])
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_rows_come_by_agent_and_run_id(store: Store, samples: "Samples", limit: int, desc: bool) -> None:
    expected = fill(store, samples)
    if desc:
        expected.reverse()

    rows = store.legacy_views.by_agent(limit, desc=desc)

    assert [(row["agent"], row["run_id"]) for row in rows] == expected[:limit]
    assert set(rows[0]) == {
        *("run_id", "started_at", "benchmark_id", "agent", "provider", "model", "status", "score", "metrics"),
    }


def test_the_newest_rows_come_first_and_whole(store: Store, samples: "Samples") -> None:
    fill(store, samples)
    store.groups.add(RunGroup("rg_0", 5.0))

    rows = list(store.legacy_views.newest_runs(3))
    groups = list(store.legacy_views.newest_groups(10))

    assert [row["created_at"] for row in rows] == [f"1970-01-01T00:16:{second}.000+00:00" for second in (51, 50, 49)]
    assert {"command_json", "metrics_json", "total_prompt_tokens"} < set(rows[0])
    assert [row["run_group_id"] for row in groups] == ["rg_1", "rg_0"]
    assert store.legacy_views.totals() == (16, 2)


def test_every_row_has_a_line(store: Store, samples: "Samples") -> None:
    expected = fill(store, samples)

    lines = list(store.legacy_views.lines())

    assert sorted((line.agent, line.run_id) for line in lines) == expected
    assert {line.status for line in lines} == {"running", "skipped"}


@pytest.mark.parametrize("desc", [False, True])
def test_a_file_gives_the_rows_of_its_store(sqlite_store: Store, samples: "Samples", desc: bool) -> None:
    fill(sqlite_store, samples)

    rows = read_ledger(Path(sqlite_store.place), 9, desc=desc)

    assert rows == sqlite_store.legacy_views.by_agent(9, desc=desc)
    assert rows is not None
    assert len(rows) == 9


def test_a_file_that_is_not_of_this_version_is_left_to_the_store(tmp_path: Path) -> None:
    older = tmp_path / "older.sqlite"
    with closing(sqlite3.connect(older)) as file:
        file.executescript((Path(__file__).parent / "released" / "0002.sqlite.sql").read_text())
    (tmp_path / "text.sqlite").write_text("no database " * 100)

    assert read_ledger(older, 10) is None
    assert read_ledger(tmp_path / "text.sqlite", 10) is None
    assert read_ledger(tmp_path / "missing.sqlite", 10) is None
    assert not (tmp_path / "missing.sqlite").exists()


def test_reading_a_file_loads_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    open_store(path).close()
    program = (
        "import sys; from pathlib import Path; from mesocosm.store.legacy_list import read_ledger; "
        "print(read_ledger(Path(sys.argv[1]), 10), 'sqlalchemy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)

    assert done.stdout == "[] False\n"
