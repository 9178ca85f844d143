"""`mesocosm admin backup`, `restore` and `cleanup`."""

import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from mesocosm.cli.main import call
from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, RunStatus
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import Store, open_store
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_requests import RunRequest

LARGE = random.Random(1).randbytes(20_000)

Call = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MESOCOSM_") and "_TEST_" not in name]:
        monkeypatch.delenv(name)


@pytest.fixture
def admin(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return what calls `mesocosm admin`, and gives code and output."""

    def calling(*words: str) -> tuple[int, str]:
        code = call(["admin", *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return calling


def new_run() -> Run:
    spec = RunSpec(BenchmarkRef("hosted", "words"), ModelSettings("builtin/random"))
    names = ("benchmark", "benchmark_title", "benchmark_version", "benchmark_digest", "kind", "model", "agent")
    told: dict[str, Any] = dict.fromkeys(names, "words")
    return Run(id=new_id(), signature=new_id(), **told, spec=spec, created_at=1.0)


def platform(folder: Path, **given: Any) -> Service:
    """Return an open platform with somebody in it."""
    settings = read_settings(data_dir=folder)
    service = Service(settings, open_store(folder / DATABASE_NAME, **given))
    service.store.users.add("ada")
    return service


def test_a_backup_of_a_platform_that_is_used_comes_back_elsewhere(tmp_path: Path, admin: Call) -> None:
    before = platform(tmp_path / "one")
    code, _ = admin("backup", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "one"))
    assert code == 0
    before.store.users.add("later")
    before.store.close()
    code, told = admin("restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "two"))
    assert (code, "mesocosm serve" in told) == (0, True)
    after = Service(read_settings(data_dir=tmp_path / "two"), open_store(tmp_path / "two" / DATABASE_NAME))
    assert [user.username for user in after.store.users.list()] == ["ada"]
    after.store.close()


def test_a_backup_is_for_nobody_else_and_is_whole(tmp_path: Path, admin: Call) -> None:
    platform(tmp_path / "one").store.close()
    admin("backup", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "one"))
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700
    with sqlite3.connect(tmp_path / "copy" / "database.sqlite") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()


def test_content_of_the_object_store_comes_along_when_asked_for(
    tmp_path: Path, admin: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ((tmp_path / name).as_uri() for name in ("objects", "others"))
    service = platform(tmp_path / "one", blob_url=first)
    run = service.store.runs.add(new_run())
    artifact = service.store.artifacts.add(run.id, "shot.png", LARGE, content_type="image/png")
    service.store.close()
    place = ("--data-dir", str(tmp_path / "one"), "--blob-url", first)
    assert admin("backup", str(tmp_path / "copy"), "--objects", *place)[0] == 0
    assert admin("restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "two"), "--blob-url", second)[0] == 0
    store: Store = open_store(tmp_path / "two" / DATABASE_NAME, blob_url=second)
    assert store.blobs.get(artifact.digest).data == LARGE
    store.close()


def test_a_backup_goes_into_a_new_folder_only(tmp_path: Path, admin: Call) -> None:
    platform(tmp_path / "one").store.close()
    code, told = admin("backup", str(tmp_path / "one"), "--data-dir", str(tmp_path / "one"))
    assert (code, "not empty" in told) == (2, True)


def test_nothing_that_is_there_is_overwritten_by_a_backup(tmp_path: Path, admin: Call) -> None:
    platform(tmp_path / "one").store.close()
    admin("backup", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "one"))
    code, told = admin("restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "one"))
    assert (code, "already" in told) == (2, True)


def test_a_folder_without_a_backup_is_none(tmp_path: Path, admin: Call) -> None:
    code, told = admin("restore", str(tmp_path), "--data-dir", str(tmp_path / "two"))
    assert (code, "holds no backup" in told) == (2, True)


def test_cleaning_up_removes_what_is_over_and_stops_what_was_cancelled(tmp_path: Path, admin: Call) -> None:
    service = platform(tmp_path / "one")
    kept, over, left = (service.store.runs.add(new_run()) for _ in range(3))
    fields: dict[str, Any] = {
        "domain_id": "words",
        "vow_version": "1.0.0",
        "model": "builtin/random",
        "created_at": 1.0,
    }
    for run, until in ((kept, None), (over, 2.0)):
        service.store.run_requests.add(RunRequest(run_id=run.id, actor="guest:1", expires_at=until, **fields))
    service.store.run_requests.add(RunRequest(run_id=left.id, actor="user:1", state="cancelled", **fields))
    folder = tmp_path / "one" / "environments" / new_id()
    (folder / "1").mkdir(parents=True)
    os.utime(folder, (1.0, 1.0))
    code, told = admin("cleanup", "--data-dir", str(tmp_path / "one"))
    assert code == 0
    assert told.startswith("cleaned up: ")
    for words in ("1 guest runs", "1 environment folders", "1 runs stopped"):
        assert words in told
    assert service.store.runs.get(left.id).status is RunStatus.STOPPED
    assert service.store.runs.get(kept.id).id == kept.id
    with pytest.raises(UnknownName):
        service.store.runs.get(over.id)
    assert not folder.exists()
    service.store.close()


@pytest.mark.postgres
def test_a_backup_of_postgres_comes_back_into_an_empty_database(tmp_path: Path, admin: Call) -> None:
    server = os.environ.get("MESOCOSM_TEST_POSTGRES", "")
    if not server:
        pytest.skip("no PostgreSQL server is named")
    urls = []
    for name in ("one", "two"):
        database = f"backup_{name}_{new_id()[-12:]}"
        subprocess.run(["psql", server, "-c", f'CREATE DATABASE "{database}"'], check=True, capture_output=True)
        urls.append(urlunsplit(urlsplit(server)._replace(path=f"/{database}")))
    service = Service(read_settings(database_url=urls[0]), open_store(urls[0]))
    service.store.users.add("ada")
    service.store.close()
    assert admin("backup", str(tmp_path / "copy"), "--database-url", urls[0])[0] == 0
    assert admin("restore", str(tmp_path / "copy"), "--database-url", urls[1])[0] == 0
    after = Service(read_settings(database_url=urls[1]), open_store(urls[1]))
    assert [user.username for user in after.store.users.list()] == ["ada"]
    after.store.close()


def test_a_backup_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    open_store(tmp_path / "data" / DATABASE_NAME).close()
    (tmp_path / "kept").mkdir()
    for name, there in (("new", False), ("kept", True)):
        words = ["admin", "backup", str(tmp_path / name), "--data-dir", str(tmp_path / "data")]
        limited = ["prlimit", "--fsize=65536", sys.executable, "-m", "mesocosm", *words]
        done = subprocess.run(limited, capture_output=True, text=True, check=False)
        assert done.returncode == 4, done.stderr
        assert "cannot be copied" in done.stderr
        assert (tmp_path / name).exists() == there
        assert list((tmp_path / name).glob("*")) == []
