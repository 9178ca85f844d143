"""A database that version 0.3.0 (schema 0007) filled with every kind of run and of server row answers as it did there.

`released/0007-filled.sqlite.sql.xz` is its dump, `0007-filled.answers.json.xz` what that version answered about it,
`0007-oracle.zip` a bundle that it wrote of one of the runs.
"""

import json
import lzma
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from tests.store.answers import answers, missing
from tests.store.conftest import own_schema

from mesocosm.benchmarks.native import NativeBenchmark
from mesocosm.benchmarks.opening import open_benchmark
from mesocosm.cli.main import call
from mesocosm.core.run import BenchmarkRef
from mesocosm.engine.comparison.runs import compare
from mesocosm.server.leaderboards.boards import leaderboards_of
from mesocosm.server.leaderboards.official import official_board
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import Store, open_store
from mesocosm.store.leaderboards import BoardScope

RELEASED = Path(__file__).parent / "released"
TOML = """
id = "sums"
title = "Sums"
description = "How well sums are added."
source = "written for the tests"
licence = "MIT"
version = "1"
split = "all"
sampling = "limit"

[score]
field = "accuracy"

[knobs]
limit = {type = "integer", help = "tasks"}
seed = {type = "integer", help = "seed", default = 0}
tone = {type = "text", help = "how it is asked", default = "plain"}
"""
MODULE = """
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.task import Task


class Sums(NativeBenchmark):
    def load(self):
        return LoadedTasks([Task(f"sum-{n}", input=f"{n} + {n}") for n in range(8)], "sums")

    async def grade(self, task, episode):
        return []


def open_benchmark(setup):
    return Sums(setup)
"""


def read(name: str) -> str:
    """Return a compressed text beside the released databases."""
    return lzma.decompress((RELEASED / name).read_bytes()).decode()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SQLite file as version 0.3.0 left it."""
    path = tmp_path_factory.mktemp("filled") / "results.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(read("0007-filled.sqlite.sql.xz"))
    return path


@pytest.fixture(scope="module")
def answered() -> dict[str, Any]:
    """What version 0.3.0 answered."""
    found: dict[str, Any] = json.loads(read("0007-filled.answers.json.xz"))
    return found


def copy_to_postgres(dump: Path, url: str) -> None:
    """Make the tables of schema 0007 in an empty PostgreSQL schema and copy every row of the SQLite file into them."""
    schema = url.rpartition("%3D")[2]
    script = (RELEASED / "0007.postgresql.sql").read_text().replace("released.", f"{schema}.")
    columns = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
    )
    with psycopg.connect(url, autocommit=True) as target, closing(sqlite3.connect(dump)) as source:
        target.execute(script.encode())
        target.execute("SET session_replication_role = replica")  # rows come in the order of table names
        names = [name for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in (name for name in names if not name.startswith("sqlite_")):
            target.execute(f"TRUNCATE {schema}.{name} CASCADE".encode())
        for name in (name for name in names if not name.startswith("sqlite_")):
            types: dict[str, str] = dict(target.execute(columns.encode(), (schema, name)).fetchall())
            found = source.execute(f"SELECT {', '.join(map(quoted, types))} FROM {name}")
            marks = ", ".join(["%s"] * len(types))
            insert = f"INSERT INTO {schema}.{name} ({', '.join(map(quoted, types))}) VALUES ({marks})"
            rows = [tuple(map(converted, row, types.values())) for row in found]
            if rows:
                target.cursor().executemany(insert.encode(), rows)


def quoted(name: str) -> str:
    return f'"{name}"'


def converted(value: Any, data_type: str) -> Any:
    return bool(value) if data_type == "boolean" and value is not None else value


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, dump: Path, tmp_path: Path) -> Iterator[Store]:
    """The filled database, opened by today's code."""
    with ExitStack() as stack:
        place = str(tmp_path / "results.sqlite")
        if request.param == "sqlite":
            shutil.copy(dump, place)
        else:
            place = stack.enter_context(own_schema())
            copy_to_postgres(dump, place)
        opened = open_store(place)
        stack.callback(opened.close)
        yield opened


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def test_every_list_run_episode_group_and_server_row_is_there(store: Store, answered: dict[str, Any]) -> None:
    asked = {key: answered[key] for key in answers(store)}

    # The order of candidates is none: a database returns them as it likes.
    found = missing(asked, answers(store))
    assert [line for line in found if not line.startswith("/server/candidates/")] == []


def test_comparisons_come_to_the_same_numbers(store: Store, answered: dict[str, Any]) -> None:
    for benchmark, run_ids in answered["compared"].items():
        found = compare(store.runs.get, store.episodes.score_rows, run_ids)

        assert missing(answered["comparisons"][benchmark], plain(found.groups), benchmark) == []


def test_leaderboards_have_the_same_places(store: Store, answered: dict[str, Any], tmp_path: Path) -> None:
    service = Service(read_settings(data_dir=tmp_path / "data"), store)
    boards = leaderboards_of(service)

    found = {
        "boards": {one: boards.entries(BoardScope(domain_id=one)) for one in answered["boards"]},
        "team boards": {one: boards.entries(BoardScope(team_id=one)) for one in answered["team boards"]},
    }
    documents: dict[str, Any] = {
        kind: {one: [entry.model_dump(mode="json") for entry in entries] for one, entries in by_id.items()}
        for kind, by_id in found.items()
    }
    documents["official"] = {
        one: official_board(service, one, None, 100).model_dump(mode="json") for one in answered["official"]
    }

    assert missing({kind: answered[kind] for kind in documents}, documents) == []
    assert documents["official"]["word-game"]["entries"]


def test_a_benchmark_opens_with_the_knobs_of_a_stored_run(store: Store, tmp_path: Path) -> None:
    (run,) = store.runs.list(text="rude").items
    options = {**run.spec.benchmark.options, "folder": str(tmp_path)}
    assert options["knobs"] == {"limit": 6, "tone": "rude", "seed": 0}
    (tmp_path / "benchmark.toml").write_text(TOML)
    (tmp_path / "benchmark.py").write_text(MODULE)

    opened = open_benchmark(BenchmarkRef("benchmark", "sums", options))

    assert isinstance(opened, NativeBenchmark)
    assert opened.setup.parameters == {"limit": 6, "tone": "rude", "seed": 0}


def test_a_bundle_of_that_version_is_imported_with_the_same_numbers(answered: dict[str, Any], tmp_path: Path) -> None:
    assert call(["import", str(RELEASED / "0007-oracle.zip"), "--results-dir", str(tmp_path)]) == 0

    store = open_store(tmp_path)
    (run,) = store.runs.list().items
    episodes = answered["episodes"][run.id]
    assert missing(answered["runs"][run.id]["run"]["metrics"], plain(run.metrics)) == []
    assert missing(episodes["list"], plain(store.episodes.list(run.id).items)) == []
    assert store.verification.check_run(run.id).damages == ()
    store.close()
