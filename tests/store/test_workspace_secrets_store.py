"""Ciphertexts of secrets in both databases."""

import pytest
from sqlalchemy.exc import IntegrityError

from mesocosm.store import Store
from mesocosm.store.workspace_secrets import WORKSPACE, StoredSecret, personal_holder

OLD, NEW = "a1.old.", "a1.new."


@pytest.fixture
def ada(store: Store) -> int:
    """Return the id of an account."""
    return store.users.add("ada").id


@pytest.fixture
def workspace(store: Store, ada: int) -> str:
    """Return the id of a workspace of hers."""
    made = store.workspaces.add("Reefs", ada)
    assert made is not None
    return made.id


def test_a_secret_is_listed_by_holder_with_the_beginning_of_its_ciphertext(
    store: Store, workspace: str, ada: int
) -> None:
    secrets = store.workspace_secrets
    own = personal_holder(ada)
    for holder, name in ((WORKSPACE, "B"), (own, "A"), (personal_holder(ada + 1), "C")):
        assert secrets.put(workspace, holder, name, f"{OLD}{name}", ada, 9)
    rows = secrets.list(workspace, [WORKSPACE, own], 7)
    assert [(row.name, row.holder, row.key, row.creator) for row in rows] == [
        ("A", own, OLD, "ada"),
        ("B", WORKSPACE, OLD, "ada"),
    ]
    assert secrets.get(workspace, own, "B", 7) is None
    assert secrets.list("elsewhere", [WORKSPACE], 7) == ()


def test_the_last_holder_that_has_a_name_counts(store: Store, workspace: str, ada: int) -> None:
    secrets, own = store.workspace_secrets, personal_holder(ada)
    secrets.put(workspace, own, "A", "mine", ada, 9)
    secrets.put(workspace, WORKSPACE, "A", "ours", ada, 9)
    secrets.put(workspace, WORKSPACE, "B", "ours", None, 9)
    found = secrets.stored(workspace, [WORKSPACE, own], ["A", "B", "C"])
    assert {name: one.value for name, one in found.items()} == {"A": "mine", "B": "ours"}
    secrets.note_used([found["A"].id])
    used = {row.holder: row.used_at for row in secrets.list(workspace, [WORKSPACE, own], 7) if row.name == "A"}
    assert used[own] is not None
    assert used[WORKSPACE] is None


def test_there_are_as_many_as_allowed_and_each_can_be_replaced(store: Store, workspace: str, ada: int) -> None:
    secrets = store.workspace_secrets
    assert secrets.put(workspace, WORKSPACE, "A", "1", ada, 1)
    assert not secrets.put(workspace, WORKSPACE, "B", "1", ada, 1)
    assert secrets.put(workspace, WORKSPACE, "A", "2", ada, 1)
    assert secrets.stored(workspace, [WORKSPACE], ["A", "B"])["A"].value == "2"


def test_values_are_replaced_page_by_page_unless_they_were_set_meanwhile(
    store: Store, workspace: str, ada: int
) -> None:
    secrets = store.workspace_secrets
    for name in "ABCDE":
        secrets.put(workspace, WORKSPACE, name, f"{OLD}{name}", ada, 9)
    secrets.put(workspace, WORKSPACE, "F", f"{NEW}F", ada, 9)
    seen, after = list[StoredSecret](), ""
    while page := secrets.under_other_keys(NEW, after, 2):
        after = page[-1].id
        seen += page
    assert sorted(one.name for one in seen) == list("ABCDE")
    first, second, third = seen[:3]
    assert first.place == (workspace, WORKSPACE, first.name)
    assert secrets.replace(first, f"{NEW}x")
    assert not secrets.replace(first, f"{NEW}y")
    secrets.put(workspace, WORKSPACE, second.name, f"{NEW}set", ada, 9)
    assert not secrets.replace(second, f"{NEW}x")
    assert secrets.delete(workspace, WORKSPACE, third.name)
    assert not secrets.delete(workspace, WORKSPACE, third.name)
    assert not secrets.replace(third, f"{NEW}x")
    assert len(secrets.under_other_keys(NEW, "", 9)) == 2


def test_secrets_go_with_their_workspace_and_stay_without_their_creator(store: Store, workspace: str) -> None:
    secrets = store.workspace_secrets
    secrets.put(workspace, WORKSPACE, "A", "1", None, 9)
    (row,) = secrets.list(workspace, [WORKSPACE], 7)
    assert row.creator is None
    assert secrets.exist()
    store.workspaces.delete(workspace)
    assert not secrets.exist()
    with pytest.raises(IntegrityError):
        secrets.put(workspace, WORKSPACE, "A", "1", None, 9)


def test_a_member_who_is_removed_loses_their_own_secrets_in_that_workspace_alone(store: Store, workspace: str) -> None:
    secrets, ben = store.workspace_secrets, store.users.add("ben").id
    other = store.workspaces.add("Dunes", ben)
    assert other is not None
    for place, holder in ((workspace, personal_holder(ben)), (other.id, personal_holder(ben)), (workspace, WORKSPACE)):
        secrets.put(place, holder, "A", "1", ben, 9)
    store.workspaces.add_member(workspace, ben, "member")
    store.workspaces.set_role(workspace, ben, "viewer", by_owner=True)
    assert secrets.list(workspace, [personal_holder(ben)], 7)
    store.workspaces.remove(workspace, ben, by_owner=True)
    assert not secrets.list(workspace, [personal_holder(ben)], 7)
    assert secrets.list(workspace, [WORKSPACE], 7)
    assert secrets.list(other.id, [personal_holder(ben)], 7)
