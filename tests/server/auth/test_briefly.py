"""What requests read again and again is remembered for a moment, and never longer than it is true here."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from mesocosm.server.auth import briefly
from mesocosm.server.auth.briefly import Briefly
from mesocosm.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of its own."""
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def test_a_value_is_read_once_in_a_moment(store: Store) -> None:
    kept, times = Briefly(store.database), count(1)
    for _ in range(3):
        assert kept.get("key", lambda: next(times)) == 1


def test_what_this_process_writes_is_noticed_at_once(store: Store) -> None:
    kept, users = Briefly(store.database), store.users
    ann = users.add("ann")
    first = kept.get("ann", lambda: users.get(ann.id))
    assert first is not None
    assert not first.disabled
    users.set_disabled(ann.id, disabled=True)
    now = kept.get("ann", lambda: users.get(ann.id))
    assert now is not None
    assert now.disabled


def test_what_another_process_writes_is_noticed_after_a_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Briefly(store.database)
    assert kept.get("key", lambda: "old") == "old"
    monkeypatch.setattr(briefly, "KEPT_S", 0.0)
    assert kept.get("key", lambda: "new") == "new"


def test_what_is_not_there_is_looked_for_again(store: Store) -> None:
    kept = Briefly(store.database)
    assert kept.get("key", lambda: None) is None
    assert kept.get("key", lambda: "there") == "there"
