"""Answers about runs that go on are shared by those who see them from the same side, for a moment."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.entry import Blob
from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Counts
from mesocosm.server.auth.principal import Kind, Principal, Role
from mesocosm.server.auth.sight import Sight
from mesocosm.server.runs import glance
from mesocosm.server.runs.glance import moving
from mesocosm.server.schemas.document import Document
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.blobs import Blobs
from mesocosm.store.run_requests import PUBLIC, RunRequest


class Said(Document):
    """Something."""

    number: int


class Teller:
    """Says one more each time that it is asked."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> Said:
        self.number += 1
        return Said(number=self.number)


@pytest.fixture
def eyes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what gives the store through the eyes of somebody; the moment of this test does not pass."""
    monkeypatch.setattr(glance, "MOMENT_S", 1e12)
    store = open_store(tmp_path / "store.sqlite")
    service = Service(read_settings(data_dir=tmp_path), store)
    yield lambda user_id, role="member": Sight(service, Principal(Kind.MEMBER, user_id, role=Role(role)))
    store.close()


@pytest.fixture
def run(records: Any) -> Any:
    """A run that nobody asked about."""
    return records.run()


def test_people_on_the_same_side_share_an_answer(eyes: Any, run: Any) -> None:
    tell = Teller()
    answers = [moving(eyes(user_id), run, "charts", tell).body for user_id in (1, 2)]
    assert answers == [b'{"number":1}', b'{"number":1}']
    assert moving(eyes(3, "admin"), run, "charts", tell).body == b'{"number":2}'


def test_what_is_for_one_person_is_not_shared(eyes: Any, run: Any) -> None:
    tell = Teller()
    answers = [moving(eyes(user_id), run, "detail", tell, alone=True).body for user_id in (1, 2, 1)]
    assert answers == [b'{"number":1}', b'{"number":2}', b'{"number":1}']


def test_an_answer_holds_only_while_the_row_of_its_run_does(eyes: Any, run: Any) -> None:
    tell = Teller()
    moving(eyes(1), run, "charts", tell)
    later = msgspec.structs.replace(run, counts=Counts(planned=9, completed=5))
    assert moving(eyes(1), later, "charts", tell).body == b'{"number":2}'


def test_content_that_may_not_be_seen_is_refused_unread_as_what_is_not_there(
    eyes: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Blob(digest_bytes(b"secret"), "text/plain", b"secret")
    eyes(1).insert_bundle(run, [], [kept])
    order: Any = {"actor": "user:1", "domain_id": "words", "vow_version": "1", "model": "m", "created_at": 0.0}
    eyes(1)._service.orders.add(RunRequest(run_id=run.id, visibility=PUBLIC, **order))
    assert eyes(2).get_run(run.id).id == run.id
    assert eyes(3, "admin").get(kept.digest) == kept

    def unread(self: Blobs, digest: str) -> Blob:
        raise AssertionError("content was read that may not be seen")

    monkeypatch.setattr(Blobs, "get", unread)
    for digest in (kept.digest, digest_bytes(b"nothing")):
        with pytest.raises(UnknownName, match=f"there is no content '{digest}' that you may see"):
            eyes(2).get(digest)
