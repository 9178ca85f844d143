"""Databases of servers of earlier schemas, filled through their API by `fill_server`, answer as they did.

Secrets open with the key of then.
"""

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
from tests.store.fill_server import FILES, KEY_OF_MODEL, MODEL, ROWS, SECRETS, document

from mesocosm.server import adapters
from mesocosm.server.key_ring import FILE_NAME, read_keys
from mesocosm.server.managed_models import managed_models, open_key
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workspace_secrets import secrets_for
from mesocosm.store import migrations, open_store

RELEASED = Path(__file__).parent / "released"
MIGRATIONS = Path(migrations.__file__).parent / "versions"
BEFORE_SAMPLES = {f"{number:04}" for number in range(1, 9)}
STEPS = {"0012", "0014", "0015"}
"""Schemas that no version ever wrote alone: they are steps to the next one with a sample."""


def samples(*schemas: str) -> list[Any]:
    """The samples of schemas, for each kind of database."""
    return [
        pytest.param(f"{schema}-filled.{kind}", marks=[pytest.mark.postgres] if kind == "postgresql" else [])
        for schema in schemas
        for kind in ("sqlite", "postgresql")
    ]


class Upgraded:
    """A server of today over the sample, and what it answered then."""

    def __init__(self, schema: str, hosted: Hosted, answers: dict[str, dict[str, Any]]) -> None:
        self.schema = schema
        self.service, self.answers = hosted.service, answers
        accounts = self.service.accounts
        users = {user.username: user for user in self.service.store.users.list()}
        self.people = {
            name: Person(hosted, accounts.access_token(users[name]), users[name].id, name) for name in answers
        }
        (self.reefs,) = [one for one in answers["ada"]["/api/workspaces"][1] if one["name"] == "Reefs"]


def read(name: str) -> str:
    return lzma.decompress((RELEASED / f"{name}.xz").read_bytes()).decode()


@pytest.fixture(scope="module", params=samples("0009", "0010", "0011", "0016", "0017"))
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """A sample, opened by today's code. Do not change it."""
    name = str(request.param)
    folder, sample = tmp_path_factory.mktemp("filled"), json.loads(read(f"{name}.json"))
    (folder / FILE_NAME).write_text(sample["key"])
    (folder / FILE_NAME).chmod(0o600)
    with ExitStack() as stack:
        if name.endswith(".sqlite"):
            place = str(folder / "results.sqlite")
            with closing(sqlite3.connect(place)) as file:
                file.executescript(read(f"{name}.sql"))
        else:
            place = stack.enter_context(own_schema())
            schema = place.rpartition("%3D")[2]
            with psycopg.connect(place, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
                connection.execute(read(f"{name}.sql").replace("released", schema).encode())
        store = open_store(place)
        stack.callback(store.close)
        models = [{"name": "builtin/random"}, {"name": "builtin/empty"}]
        settings = read_settings(data_dir=folder, local_git=True, max_missing=1.0, models=models)
        portal = stack.enter_context(start_blocking_portal())
        service = Service(settings, store)
        adapters.bind(service)
        yield Upgraded(name[:4], Hosted(service, portal), sample["answers"])


def test_every_schema_has_a_sample_that_a_server_filled() -> None:
    wanted = {file.name[:4] for file in MIGRATIONS.glob("[0-9]*.py")} - BEFORE_SAMPLES - STEPS

    kept = {(file.name[:4], file.name[12:].partition(".")[0]) for file in RELEASED.glob("*-filled.*.sql.xz")}

    assert {(schema, kind) for schema in wanted for kind in ("sqlite", "postgresql")} <= kept, (
        "fill samples of the new schema: python -m tests.store.fill_server tests/store/released/NNNN-filled.sqlite, "
        "and NNNN-filled.postgresql"
    )


@pytest.mark.parametrize("name", ["root", "ada", "ben", "cid", "dee"])
def test_everybody_is_answered_as_before(upgraded: Upgraded, name: str) -> None:
    before = upgraded.answers[name]
    for path, (_status, answer) in before.items():
        if path.endswith("/preview") and answer and upgraded.schema < "0011":
            # Rows of previews were counted from 1.
            answer["items"] = [{**item, "row": item["row"] - 1} for item in answer["items"]]

    now = {path: document(upgraded.people[name].get(path)) for path in before}

    assert missing(before, now) == []


def test_secrets_open_with_the_key_of_then(upgraded: Upgraded) -> None:
    user_id = upgraded.people["ada"].user_id

    found = secrets_for(upgraded.service, upgraded.reefs["id"], user_id, SECRETS)

    assert {name: value.get_secret_value() for name, value in found.items()} == SECRETS


@pytest.mark.parametrize("upgraded", samples("0017"), indirect=True)
def test_models_have_the_keys_of_then(upgraded: Upgraded) -> None:
    (model,) = managed_models(upgraded.service.store)

    key = open_key(read_keys(upgraded.service.settings), model)

    assert (model.entry.name, key.get_secret_value()) == (MODEL, KEY_OF_MODEL)


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


@pytest.mark.parametrize("upgraded", samples("0010", "0011", "0016", "0017"), indirect=True)
def test_an_evaluation_can_be_repeated_with_its_code_and_dataset(upgraded: Upgraded) -> None:
    body = {"kind": "rollout", "workspace": "Reefs", "from_run": "smoke"}

    answer = upgraded.people["ben"].post("/api/runs/estimate", body)

    assert answer.status_code == 200, answer.text
    found = answer.json()

    assert (found["samples"], found["missing_secrets"]) == (2, [])


@pytest.mark.parametrize("upgraded", samples("0010", "0011", "0016", "0017"), indirect=True)
def test_files_of_samples_are_there(upgraded: Upgraded) -> None:
    ben = upgraded.people["ben"]
    run = ben.get(f"/api/workspaces/{upgraded.reefs['id']}/runs/smoke").json()["id"]

    files = ben.get(f"/api/runs/{run}/artifacts").json()["items"]

    assert [ben.get(f"/api/blobs/{file['digest']}").content for file in files] == [b"1", b"2"]
