"""`mesocosm verify`, and what other commands say of a damaged file."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("forked")

FILE = "orchestrator.sqlite"


def mesocosm(*words: str, place: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mesocosm", *words, "--results-dir", str(place)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("results")
    done = mesocosm(
        *("bench", "run", "--benchmarks", "context-bench", "--model", "builtin/oracle", "--max-examples", "12"),
        "--quiet",
        place=place,
    )
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(place / FILE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return place


def copied(recorded: Path, place: Path) -> Path:
    (place / FILE).write_bytes((recorded / FILE).read_bytes())
    return place


def test_an_undamaged_run_is_verified(recorded: Path, tmp_path: Path) -> None:
    done = mesocosm("verify", place=copied(recorded, tmp_path))
    assert done.returncode == 0, done.stderr
    assert "nothing is damaged in 1 run" in done.stdout


def test_a_changed_score_is_named(recorded: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(copied(recorded, tmp_path) / FILE)) as connection:
        connection.execute(
            "UPDATE scores SET value = 0.5 WHERE episode_id = (SELECT id FROM episodes WHERE position = 3)"
        )
        connection.commit()
    done = mesocosm("verify", "last", "--json", place=tmp_path)
    assert done.returncode == 1
    (run,) = json.loads(done.stdout)["runs"]
    assert len(run["damages"]) == 1
    assert run["damages"][0].startswith("episode 3 (")


def test_a_changed_number_of_a_run_is_named(recorded: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(copied(recorded, tmp_path) / FILE)) as connection:
        connection.execute("""UPDATE runs SET metrics = replace(metrics, '"value":1.0', '"value":0.75')""")
        connection.commit()
    done = mesocosm("verify", place=tmp_path)
    assert done.returncode == 1
    assert "is stored as 0.75, its episodes give 1.0" in done.stdout


@pytest.mark.parametrize("words", [("run", "list"), ("run", "show", "last"), ("run", "resume", "last"), ("verify",)])
def test_a_file_with_overwritten_pages_is_refused(recorded: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = copied(recorded, tmp_path) / FILE
    data = bytearray(file.read_bytes())
    for page in range(8, len(data) // 4096, 5):
        data[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    file.write_bytes(data)
    done = mesocosm(*words, place=tmp_path)
    # What cannot even be opened is no matter of single runs.
    assert done.returncode in ((1, 4) if words == ("verify",) else (4,))
    assert "damaged" in done.stdout + done.stderr
