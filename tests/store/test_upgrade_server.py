"""A server's database of schema 0009, filled through its API by `fill_server`, answers as it did then, with its key."""

import json
import lzma
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from anyio.from_thread import start_blocking_portal
from tests.server.routes.conftest import Hosted, Person
from tests.store.answers import missing
from tests.store.conftest import own_schema
from tests.store.fill_server import FILES, ROWS, SECRETS, document

from mesocosm.server.key_ring import FILE_NAME
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workspace_secrets import secrets_for
from mesocosm.store import open_store

RELEASED = Path(__file__).parent / "released"


class Upgraded:
    """A server of today over the sample, and what it answered then."""

    def __init__(self, hosted: Hosted, answers: dict[str, dict[str, Any]]) -> None:
        self.service, self.answers = hosted.service, answers
        accounts = self.service.accounts
        users = {user.username: user for user in self.service.store.users.list()}
        self.people = {
            name: Person(hosted, accounts.access_token(users[name]), users[name].id, name) for name in answers
        }
        (self.reefs,) = [one for one in answers["ada"]["/api/workspaces"][1] if one["name"] == "Reefs"]


def read(name: str) -> str:
    return lzma.decompress((RELEASED / f"0009-filled.{name}.xz").read_bytes()).decode()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """The sample, opened by today's code. Do not change it."""
    folder, sample = tmp_path_factory.mktemp("filled"), json.loads(read(f"{request.param}.json"))
    (folder / FILE_NAME).write_text(sample["key"])
    (folder / FILE_NAME).chmod(0o600)
    with ExitStack() as stack:
        if request.param == "sqlite":
            place = str(folder / "results.sqlite")
            with closing(sqlite3.connect(place)) as file:
                file.executescript(read("sqlite.sql"))
        else:
            place = stack.enter_context(own_schema())
            schema = place.rpartition("%3D")[2]
            with psycopg.connect(place, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
                connection.execute(read("postgresql.sql").replace("released", schema).encode())
        store = open_store(place)
        stack.callback(store.close)
        settings = read_settings(data_dir=folder, local_git=True, max_missing=1.0, models=[{"name": "builtin/random"}])
        portal = stack.enter_context(start_blocking_portal())
        yield Upgraded(Hosted(Service(settings, store), portal), sample["answers"])


@pytest.mark.parametrize("name", ["root", "ada", "ben", "cid", "dee"])
def test_everybody_is_answered_as_before(upgraded: Upgraded, name: str) -> None:
    before = upgraded.answers[name]

    now = {path: document(upgraded.people[name].get(path)) for path in before}

    assert missing(before, now) == []


def test_secrets_open_with_the_key_of_then(upgraded: Upgraded) -> None:
    user_id = upgraded.people["ada"].user_id

    found = secrets_for(upgraded.service, upgraded.reefs["id"], user_id, SECRETS)

    assert {name: value.get_secret_value() for name, value in found.items()} == SECRETS


def test_every_version_of_a_dataset_has_its_bytes(upgraded: Upgraded) -> None:
    path = f"/api/workspaces/{upgraded.reefs['id']}/datasets/hard/download"

    found = [upgraded.people["cid"].get(path, params={"version": number}).content for number in (1, 2)]

    assert found == ROWS


def test_files_of_a_snapshot_are_there(upgraded: Upgraded) -> None:
    store = upgraded.service.store
    repository = store.repositories.of(upgraded.reefs["id"])
    assert repository is not None
    sync = store.syncs.get(repository.id, 1)
    assert sync is not None
    assert sync.snapshot is not None

    files = store.snapshots.get(sync.snapshot).files
    found = {file.path: store.snapshots.content(file).decode() for file in files}

    assert found == FILES
