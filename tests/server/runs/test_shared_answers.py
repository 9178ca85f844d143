"""Answers about runs in progress are shared for a moment by those who see the same of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.entry import Blob
from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Counts
from mesocosm.server.auth.principal import Kind, Principal, Role
from mesocosm.server.permissions.grant import grant
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.routes import runs as run_routes
from mesocosm.server.routes.runs import shared_answer
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
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A server; the moment of this test does not pass."""
    monkeypatch.setattr(run_routes, "MOMENT_S", 1e12)
    store = open_store(tmp_path / "store.sqlite")
    yield Service(read_settings(data_dir=tmp_path), store)
    store.close()


@pytest.fixture
def run(records: Any) -> Any:
    """A run that nobody asked about."""
    return records.run()


Seen = Callable[..., VisibleRun]


@pytest.fixture
def seen(service: Service, run: Any) -> Seen:
    """Return what gives a run as a user sees it."""

    def of(user_id: int, role: str = "member", record: Any = None) -> VisibleRun:
        viewer = service.viewer(Principal(Kind.MEMBER, user_id, role=Role(role)))
        return VisibleRun(service, viewer, record or run, None)

    return of


def test_people_who_see_the_same_share_an_answer(seen: Seen) -> None:
    tell = Teller()
    answers = [shared_answer(seen(user_id), "charts", tell).body for user_id in (1, 2)]
    assert answers == [b'{"number":1}', b'{"number":1}']
    assert shared_answer(seen(3, "admin"), "charts", tell).body == b'{"number":2}'


def test_what_is_for_one_person_is_not_shared(seen: Seen) -> None:
    tell = Teller()
    answers = [shared_answer(seen(user_id), "detail", tell, alone=True).body for user_id in (1, 2, 1)]
    assert answers == [b'{"number":1}', b'{"number":2}', b'{"number":1}']


def test_an_answer_holds_only_while_the_row_of_its_run_does(seen: Seen, run: Any) -> None:
    tell = Teller()
    shared_answer(seen(1), "charts", tell)
    later = msgspec.structs.replace(run, counts=Counts(planned=9, completed=5))
    assert shared_answer(seen(1, record=later), "charts", tell).body == b'{"number":2}'


def test_content_that_may_not_be_seen_is_refused_unread_as_what_is_not_there(
    service: Service, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Blob(digest_bytes(b"secret"), "text/plain", b"secret")
    service.store.bundles.insert(run, [], [kept])
    order: Any = {"actor": "user:1", "domain_id": "words", "vow_version": "1", "model": "m", "created_at": 0.0}
    service.store.run_requests.add(RunRequest(run_id=run.id, visibility=PUBLIC, **order))
    outsider = grant(service, Principal(Kind.MEMBER, 2)).runs()
    assert outsider.get(run.id).id == run.id
    assert grant(service, Principal(Kind.MEMBER, 3, role=Role.ADMIN)).runs().blob(kept.digest) == kept

    def unread(self: Blobs, digest: str) -> Blob:
        raise AssertionError("content was read that may not be seen")

    monkeypatch.setattr(Blobs, "get", unread)
    for digest in (kept.digest, digest_bytes(b"nothing")):
        with pytest.raises(UnknownName, match=f"there is no content '{digest}' that you may see"):
            outsider.blob(digest)
