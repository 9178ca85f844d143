"""Every method of every granted object, called as each role: it refuses, or shows nothing that is hidden from the role.

A granted object or a method that no module of `granted` knows how to call fails these tests.
"""

import asyncio
import importlib
import inspect
import pkgutil
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from tests.server.auth import granted
from tests.server.auth.granted.world import (
    CALLERS,
    CHANGES,
    MATE,
    MAY_CHANGE,
    MAY_READ,
    OWNER,
    REFUSED,
    RUNS,
    STORE,
    World,
    dump,
    opened,
    reopened,
    secret,
)

from mesocosm.server import permissions
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.refusal import Refusal
from mesocosm.store.workspaces import ROLES

_MODULES = [
    importlib.import_module(f"{granted.__name__}.{module.name}") for module in pkgutil.iter_modules(granted.__path__)
]
OBJECTS: dict[type, Any] = {kind: make for module in _MODULES for kind, make in getattr(module, "OBJECTS", {}).items()}
CALLS: dict[str, Any] = {name: call for module in _MODULES for name, call in getattr(module, "CALLS", {}).items()}
TELLS: set[str] = {name for module in _MODULES for name in getattr(module, "TELLS", ())}


def _kinds() -> list[type[GrantedObject]]:
    """Return all granted objects: whatever is below `GrantedObject` in the package."""
    for module in pkgutil.iter_modules(permissions.__path__):
        importlib.import_module(f"{permissions.__name__}.{module.name}")
    found, left = [], [GrantedObject]
    while left:
        for kind in left.pop().__subclasses__():
            found.append(kind)
            left.append(kind)
    return [kind for kind in found if kind.__module__.startswith(permissions.__name__)]


def _members(kind: type) -> Iterator[tuple[str, bool]]:
    """Yield the public names of a class, and whether each is a property; what it inherits is called on its base."""
    for name, member in vars(kind).items():
        if not name.startswith("_") and not isinstance(member, classmethod | staticmethod):
            yield name, isinstance(member, property | cached_property)


def _tell(kind: type, name: str, thing: Any, world: World, *, is_property: bool) -> str:
    """Return what a member tells, empty where it refuses."""
    try:
        found = getattr(thing, name) if is_property else CALLS[f"{kind.__name__}.{name}"](thing, world)
        # Reading what a generator yields may be what is refused.
        return dump(found)
    except REFUSED:
        return ""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, records: Any) -> tuple[World, Path]:
    """A server with four runs, which is closed, and the file of its store, to copy."""
    folder = tmp_path_factory.mktemp("granted")
    with opened(folder, records, lambda *given: asyncio.run(records.write(*given))) as found:
        return found, folder / STORE


@pytest.fixture
def world(planted: tuple[World, Path], tmp_path: Path) -> Iterator[World]:
    """A server with four runs."""
    closed, file = planted
    with reopened(closed, Path(shutil.copy(file, tmp_path))) as found:
        yield found


def test_every_member_of_every_granted_object_is_called_here() -> None:
    kinds = _kinds()
    assert {"VisibleRun", "VisibleRuns", "VisibleEpisode", "OwnedRun"} <= {kind.__name__ for kind in kinds}
    unknown = [kind.__name__ for kind in kinds if kind not in OBJECTS]
    assert not unknown, f"say in a module of {granted.__name__} (OBJECTS) how these are made: {unknown}"
    unknown = [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, is_property in _members(kind)
        if not is_property and f"{kind.__name__}.{name}" not in CALLS
    ]
    assert not unknown, f"say in a module of {granted.__name__} (CALLS) how these are called: {unknown}"


def test_a_granted_object_has_no_public_store(world: World) -> None:
    for kind in _kinds():
        for thing in OBJECTS[kind](world, world.grant("owner"), "owner"):
            public = {name: value for name, value in vars(thing).items() if not name.startswith("_")}
            assert not public, f"{kind.__name__} keeps {sorted(public)} in public"


@pytest.mark.parametrize("role", CALLERS)
def test_no_member_tells_what_is_hidden_from_a_role(world: World, role: str) -> None:
    grant, hidden = world.grant(role), world.hidden(role)
    for kind in sorted(_kinds(), key=lambda one: "Owned" in one.__name__):
        members = sorted(_members(kind), key=lambda member: member[0] == "delete")
        for thing in OBJECTS[kind](world, grant, role):
            for name, is_property in members:
                told = _tell(kind, name, thing, world, is_property=is_property)
                shown = {word for word in hidden if word in told}
                assert not shown, f"{kind.__name__}.{name} tells {role} {sorted(shown)}"


@pytest.mark.parametrize("role", CALLERS)
def test_members_are_as_discreet_whichever_is_called_first(world: World, role: str) -> None:
    hidden = world.hidden(role)
    for kind in _kinds():
        for name, is_property in _members(kind):
            if "Owned" in kind.__name__:
                continue
            for thing in OBJECTS[kind](world, world.grant(role), role):
                told = _tell(kind, name, thing, world, is_property=is_property)
                assert not {word for word in hidden if word in told}, f"{kind.__name__}.{name} called first"


def test_what_is_hidden_from_others_is_told_to_the_owner(world: World) -> None:
    grant = world.grant("owner")
    telling = {
        f"{kind.__name__}.{name}"
        for kind in _kinds()
        for thing in OBJECTS[kind](world, grant, "owner")
        for name, is_property in _members(kind)
        if "Owned" not in kind.__name__
        and secret("private") in _tell(kind, name, thing, world, is_property=is_property)
    }
    assert telling >= TELLS, sorted(TELLS - telling)


@pytest.mark.parametrize("role", CALLERS)
def test_a_run_is_read_and_changed_by_those_who_may(world: World, role: str) -> None:
    grant = world.grant(role)
    for name in RUNS:
        run_id = world.runs[name]
        assert _granted(grant, "run", run_id) == (name in MAY_READ[role])
        assert _granted(grant, "episode", world.episodes[name]) == (name in MAY_READ[role])
        assert _granted(grant, "own_run", run_id) == (name in MAY_CHANGE[role])


def _granted(grant: Grant, what: str, reference: str) -> bool:
    try:
        return getattr(grant, what)(reference) is not None
    except REFUSED:
        return False


@pytest.mark.parametrize("role", CALLERS)
def test_benchmarks_are_for_members_and_what_is_about_all_runs_for_those_who_see_all(world: World, role: str) -> None:
    if role in {"nobody", "guest"}:
        with pytest.raises(Refusal, match="are for members"):
            world.grant(role).benchmarks()
        return
    records = world.grant(role).benchmarks()
    seen = {line.run_id for lines in records.lines(["words"]).values() for line in lines}
    assert seen == set(world.runs.values()) & set(world.readable(role))
    assert sum(records.counts().runs.values()) == len(seen)
    if role not in {"admin", "local"}:
        with pytest.raises(Refusal, match="only administrators"):
            records.viewer_data()


@pytest.mark.parametrize("role", CALLERS)
def test_administration_is_for_administrators(world: World, role: str) -> None:
    if role in {"admin", "local"}:
        assert world.grant(role).administration().users(9).users
    else:
        with pytest.raises(Refusal, match="only administrators may"):
            world.grant(role).administration()


@pytest.mark.parametrize("role", CALLERS)
def test_a_team_is_read_by_its_members_and_changed_by_its_owner(world: World, role: str) -> None:
    (team,) = world.service.store.teams.teams_of(OWNER)
    grant = world.grant(role)
    assert _granted(grant, "team", team.id) == ("team" in CHANGES[role])
    assert _granted(grant, "own_team", team.id) == ("private" in CHANGES[role])


@pytest.mark.parametrize("role", CALLERS)
def test_a_workspace_is_granted_by_the_role_in_it(world: World, role: str) -> None:
    workspaces = world.service.store.workspaces
    workspace = workspaces.add("Reefs", OWNER)
    assert workspace is not None
    ways = ("workspace", "working_workspace", "managed_workspace", "owned_workspace")
    granted_ways = {"owner": 4, "admin": 4, "local": 4}.get(role, 0)
    for reference in (workspace.id, "rEEFS"):
        assert sum(_granted(world.grant(role), way, reference) for way in ways) == granted_ways
    if role != "team mate":
        return
    for rank, name in enumerate(ROLES, 1):
        workspaces.add_member(workspace.id, MATE, name)
        workspaces.set_role(workspace.id, MATE, name, by_owner=True)
        assert [_granted(world.grant(role), way, workspace.id) for way in ways] == [at < rank for at in range(4)]


def test_batch_runs_of_others_need_the_secret_of_workers(world: World) -> None:
    with pytest.raises(Refusal) as refused:
        world.grant("nobody").batch_runs("Bearer wrong")
    assert refused.value.status == 401
    with pytest.raises(Refusal) as refused:
        world.grant("guest").batch_runs("Bearer wrong")
    assert refused.value.status == 403


def test_every_way_into_a_grant_leads_to_a_granted_object() -> None:
    for name, member in inspect.getmembers(Grant):
        if name.startswith("_") or isinstance(member, property):
            continue
        answer = inspect.signature(member).return_annotation
        assert inspect.isclass(answer), f"Grant.{name} does not say what it grants"
        assert issubclass(answer, GrantedObject), f"Grant.{name} grants a {answer.__name__}"
