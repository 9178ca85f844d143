"""Workspaces in the store: names, roles, and owners that are always left."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import IntegrityError

from mesocosm.store import Store
from mesocosm.store.workspaces import ROLES, MemberChange, Workspace


def user(store: Store, name: str) -> int:
    return store.users.add(name).id


def made(store: Store, owner_id: int | None, name: str = "Reefs") -> Workspace:
    workspace = store.workspaces.add(name, owner_id)
    assert workspace is not None
    return workspace


def roles(store: Store, workspace: Workspace) -> dict[str, str]:
    return {member.username: member.role for member in store.workspaces.members(workspace.id)}


def test_a_workspace_is_found_by_id_and_by_name_in_any_case(store: Store) -> None:
    ada = user(store, "ada")
    workspace = made(store, ada, "Straße 1")
    for reference in (workspace.id, "Straße 1", "STRASSE 1", "straße\u00a01"):
        found = store.workspaces.membership(reference, ada)
        assert found is not None
        assert (found.workspace, found.role, found.members) == (workspace, "owner", 1)
    assert store.workspaces.membership("Strasse", ada) is None
    other = store.workspaces.membership(workspace.id, ada + 1)
    assert other is not None
    assert other.role is None


@pytest.mark.parametrize("other", ["Reefs", "rEEFS", "Ｒeefs"])
def test_names_differ_in_more_than_case(store: Store, other: str) -> None:
    ada = user(store, "ada")
    made(store, ada)
    second = made(store, ada, "Dunes")
    assert store.workspaces.add(other, ada) is None
    assert not store.workspaces.rename(second.id, other)
    assert store.workspaces.rename(second.id, "DUNES")
    assert [one.workspace.name for one in store.workspaces.memberships_of(ada)] == ["DUNES", "Reefs"]


def test_nothing_is_left_of_a_workspace_whose_owner_is_unknown(store: Store) -> None:
    with pytest.raises(IntegrityError):
        store.workspaces.add("Reefs", 99)
    assert store.workspaces.memberships_of(None, everything=True) == ()


def test_one_of_many_who_take_a_name_at_once_gets_it(store: Store) -> None:
    ada = user(store, "ada")
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: store.workspaces.add("Reefs", ada), range(6)))
    assert len([one for one in found if one is not None]) == 1


def test_lists_are_those_of_a_user_or_everything_in_pages(store: Store) -> None:
    ada, ben = user(store, "ada"), user(store, "ben")
    found = [made(store, ada if number % 2 else ben, f"W{number}") for number in range(5)]
    newest = [one.id for one in reversed(found)]
    assert [one.workspace.id for one in store.workspaces.memberships_of(ada)] == [found[3].id, found[1].id]
    everything = store.workspaces.memberships_of(ada, everything=True)
    assert [one.workspace.id for one in everything] == newest
    assert [one.role for one in everything] == [None, "owner", None, "owner", None]
    first = store.workspaces.memberships_of(None, everything=True, limit=2)
    rest = store.workspaces.memberships_of(None, everything=True, cursor=first[-1].workspace.id)
    assert [one.workspace.id for one in (*first, *rest)] == newest
    assert store.workspaces.memberships_of(None) == ()


def test_members_are_listed_with_owners_first(store: Store) -> None:
    ada = user(store, "ada")
    workspace = made(store, ada)
    for role in ROLES[:3]:
        assert store.workspaces.add_member(workspace.id, user(store, role), role) == role
    assert list(roles(store, workspace).values()) == ["owner", "admin", "member", "viewer"]
    found = store.workspaces.membership(workspace.id, ada)
    assert found is not None
    assert found.members == 4


def test_adding_a_member_again_keeps_the_role(store: Store) -> None:
    ada, ben = user(store, "ada"), user(store, "ben")
    workspace = made(store, ada)
    assert store.workspaces.add_member(workspace.id, ben, "viewer") == "viewer"
    assert store.workspaces.add_member(workspace.id, ben, "owner") == "viewer"
    assert store.workspaces.add_member("gone", ben, "owner") is None
    with pytest.raises(IntegrityError):
        store.workspaces.add_member(workspace.id, 99, "viewer")


def test_the_last_owner_stays(store: Store) -> None:
    ada, ben = user(store, "ada"), user(store, "ben")
    workspace, change = made(store, ada), store.workspaces
    change.add_member(workspace.id, ben, "admin")
    assert change.set_role(workspace.id, ada, "admin", by_owner=True) is MemberChange.LAST_OWNER
    assert change.remove(workspace.id, ada, by_owner=True) is MemberChange.LAST_OWNER
    assert change.set_role(workspace.id, ada, "owner", by_owner=True) is MemberChange.UNCHANGED
    assert change.set_role(workspace.id, ben, "owner", by_owner=True) is MemberChange.DONE
    assert change.set_role(workspace.id, ada, "viewer", by_owner=True) is MemberChange.DONE
    assert roles(store, workspace) == {"ben": "owner", "ada": "viewer"}


def test_an_owner_whose_account_is_disabled_is_no_owner_who_is_left(store: Store) -> None:
    ada, ben = user(store, "ada"), user(store, "ben")
    workspace = made(store, ada)
    store.workspaces.add_member(workspace.id, ben, "owner")
    store.users.set_disabled(ben, disabled=True)
    assert [one.disabled for one in store.workspaces.members(workspace.id)] == [False, True]
    assert store.workspaces.remove(workspace.id, ada, by_owner=True) is MemberChange.LAST_OWNER
    assert store.workspaces.remove(workspace.id, ben, by_owner=True) is MemberChange.DONE


def test_owners_are_changed_by_owners_alone(store: Store) -> None:
    ada, ben = user(store, "ada"), user(store, "ben")
    workspace = made(store, ada)
    store.workspaces.add_member(workspace.id, ben, "owner")
    assert store.workspaces.set_role(workspace.id, ben, "viewer", by_owner=False) is MemberChange.OWNER
    assert store.workspaces.remove(workspace.id, ben, by_owner=False) is MemberChange.OWNER
    assert store.workspaces.remove(workspace.id, 99, by_owner=True) is MemberChange.NO_MEMBER
    assert store.workspaces.remove("gone", ben, by_owner=True) is MemberChange.NO_MEMBER


def test_owners_who_remove_each_other_at_once_leave_one(store: Store) -> None:
    people = [user(store, f"owner{number}") for number in range(6)]
    workspace = made(store, people[0])
    for one in people[1:]:
        store.workspaces.add_member(workspace.id, one, "owner")

    def leave(user_id: int) -> MemberChange:
        if random.random() < 0.5:
            return store.workspaces.remove(workspace.id, user_id, by_owner=True)
        return store.workspaces.set_role(workspace.id, user_id, "viewer", by_owner=True)

    with ThreadPoolExecutor(len(people)) as pool:
        found = list(pool.map(leave, people))
    assert sorted(found) == [MemberChange.DONE] * 5 + [MemberChange.LAST_OWNER]
    assert list(roles(store, workspace).values()).count("owner") == 1


def test_members_go_with_their_workspace(store: Store) -> None:
    ada = user(store, "ada")
    workspace = made(store, ada)
    store.workspaces.set_budget(workspace.id, 2.5)
    found = store.workspaces.membership(workspace.id, ada)
    assert found is not None
    assert found.workspace.budget_usd == 2.5
    assert store.workspaces.delete(workspace.id)
    assert not store.workspaces.delete(workspace.id)
    assert store.workspaces.membership(workspace.id, ada) is None
    assert store.workspaces.members(workspace.id) == ()
