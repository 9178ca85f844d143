"""Who reads and changes a run: the rules for one run and those in SQL, over every kind of run and of person."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from mesocosm.core.run import RunStatus
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import NOBODY, Kind, Principal, Role
from mesocosm.server.permissions.grant import grant
from mesocosm.server.permissions.visible_runs import VisibleRuns
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import Store
from mesocosm.store.filters import RunFilter, VisibleTo, Whose
from mesocosm.store.run_requests import PRIVATE, PUBLIC, RunRequest, is_public
from mesocosm.store.tenancy import requests
from mesocosm.store.workspaces import ROLES

if TYPE_CHECKING:
    from tests.store.conftest import Samples

GUEST = Principal(Kind.GUEST, guest_id="g")
SUBMITTERS = ("viewer", "member", "left")
READERS = ("viewer", "member", "admin", "owner", "root")
CHANGERS = {
    "viewer": ("admin", "owner", "root"),
    "member": ("member", "admin", "owner", "root"),
    "left": ("admin", "owner", "root"),
}
"""Who changes a run in a workspace, by who submitted it."""


@dataclass
class Crowd:
    """A workspace with a member of each role, one who left it, and a team of all three who submit runs."""

    service: Service
    people: dict[str, Principal]
    workspace: str
    team: str
    orders: dict[str, RunRequest] = field(default_factory=dict)
    statuses: dict[str, RunStatus] = field(default_factory=dict)

    def viewer(self, name: str) -> Viewer:
        """Return a person with the rules that apply to them."""
        return self.service.viewer(self.people[name])

    def runs(self, name: str) -> VisibleRuns:
        """Return the runs that a person may read."""
        return grant(self.service, self.people[name]).runs()

    def listed(self, name: str, whose: Whose = "", wanted: RunFilter | None = None) -> set[str]:
        """Return the ids of the runs in somebody's list."""
        return {run.id for run in self.runs(name).page(wanted, whose=whose, limit=200).items}

    def fitting(self, fits: Callable[[RunRequest, RunStatus], bool]) -> set[str]:
        """Return the ids of the runs for which `fits`."""
        return {run_id for run_id, order in self.orders.items() if fits(order, self.statuses[run_id])}


@pytest.fixture
def crowd(store: Store, samples: "Samples", tmp_path: Path) -> Crowd:
    """A crowd that a test may change."""
    return gathered(store, samples, tmp_path)


@pytest.fixture(scope="module")
def onlookers(shared_store: Store, samples: "Samples", tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """A crowd that no test may change."""
    return gathered(shared_store, samples, tmp_path_factory.mktemp("crowd"))


def gathered(store: Store, samples: "Samples", folder: Path) -> Crowd:
    """Return people with a run for every combination of submitter, workspace, team, visibility and status."""
    names = (*ROLES, "left", "mate", "stranger", "root")
    users = {name: store.users.add(name) for name in names}
    people = {
        name: Principal(Kind.MEMBER, user.id, name, role=Role.ADMIN if name == "root" else Role.MEMBER)
        for name, user in users.items()
    }
    workspace = store.workspaces.add("Reefs", users["owner"].id)
    elsewhere = store.workspaces.add("Shoals", users["stranger"].id)
    team = store.teams.add("Reefs", users["mate"].id)
    assert workspace is not None
    assert elsewhere is not None
    assert team is not None
    for role in ("viewer", "member", "admin"):
        store.workspaces.add_member(workspace.id, users[role].id, role)
    store.workspaces.add_member(workspace.id, users["left"].id, "admin")
    store.workspaces.remove(workspace.id, users["left"].id, by_owner=True)
    for name in SUBMITTERS:
        store.teams.join(team.join_code, users[name].id, 9)
    service = Service(read_settings(data_dir=folder / "data"), store)
    crowd = Crowd(service, {**people, "nobody": NOBODY, "guest": GUEST}, workspace.id, team.id)
    for submitter in (*SUBMITTERS, "guest"):
        for where in (None, workspace.id, elsewhere.id):
            for of_team in (None, team.id):
                for visibility in (PRIVATE, PUBLIC):
                    for status in (RunStatus.FINISHED, RunStatus.RUNNING):
                        run = store.runs.add(samples.run(status=status))
                        actor = crowd.people[submitter].actor
                        order = RunRequest(
                            run_id=run.id, actor=actor, team_id=of_team, model="m", created_at=1.0,
                            visibility=visibility, workspace_id=where,
                        )  # fmt: skip
                        store.run_requests.add(order)
                        crowd.orders[run.id], crowd.statuses[run.id] = order, status
    return crowd


def test_a_run_in_a_workspace_is_read_by_its_members_and_changed_by_its_admins_and_its_submitter(
    onlookers: Crowd,
) -> None:
    here = [order for order in onlookers.orders.values() if order.workspace_id == onlookers.workspace]
    assert len(here) == 32
    for order in here:
        submitter = next((name for name in SUBMITTERS if onlookers.people[name].actor == order.actor), "left")
        for name in onlookers.people:
            viewer, told = onlookers.viewer(name), (name, order)
            assert viewer.may_read_run(order, onlookers.statuses[order.run_id]) == (name in READERS), told
            assert viewer.sees_inside(order) == (name in READERS), told
            assert viewer.may_change_run(order) == (name in CHANGERS[submitter]), told


def test_lists_counts_facets_and_single_runs_agree_for_everybody(onlookers: Crowd) -> None:
    for name in onlookers.people:
        viewer, runs = onlookers.viewer(name), onlookers.runs(name)
        readable = {
            run_id
            for run_id, order in onlookers.orders.items()
            if viewer.may_read_run(order, onlookers.statuses[run_id])
        }
        assert onlookers.listed(name) == readable, name
        assert runs.count() == (len(readable), True), name
        assert sum(count for _, count in runs.facets().statuses) == len(readable), name
        changes = runs.changes(0.0)
        assert {*changes.changed, *changes.active} <= readable, name
        assert {state.id for state in runs.states(list(onlookers.orders))} == readable, name


def test_what_one_sees_all_of_is_the_same_in_sql(onlookers: Crowd) -> None:
    for name, person in onlookers.people.items():
        viewer = onlookers.viewer(name)
        actor, user_id = ("" if person.anonymous else person.actor), person.user_id
        owned = select(requests.c.run_id).where(VisibleTo(actor, user_id, every_workspace=viewer.sees_all).owns())
        found = {row["run_id"] for row in onlookers.service.store.database.all(owned)}
        whole = {run_id for run_id, order in onlookers.orders.items() if viewer.sees_inside(order)}
        # Administrators see all without asking.
        assert found == whole if name != "root" else found <= whole, name


def test_whose_runs_are_listed_is_the_same_in_sql(onlookers: Crowd) -> None:
    def expected(name: str, whose: Whose) -> set[str]:
        viewer = onlookers.viewer(name)

        def fits(order: RunRequest, status: RunStatus) -> bool:
            if whose == "public":
                return is_public(order, status)
            if whose == "mine":
                return viewer.is_owner(order) and viewer.may_read_run(order, status)
            if whose == "team":
                return order.workspace_id is None and viewer.is_member(order.team_id)
            return order.workspace_id is not None and (viewer.sees_all or order.workspace_id in viewer.roles)

        return onlookers.fitting(fits)

    groups: tuple[Whose, ...] = ("mine", "team", "workspace", "public")
    for name in onlookers.people:
        for whose in groups:
            found = onlookers.listed(name, whose)
            assert found == expected(name, whose), (name, whose)
            assert onlookers.runs(name).count(whose=whose) == (len(found), True), (name, whose)
    assert {len(onlookers.listed(name, "workspace")) for name in READERS} == {32, 64}
    assert not onlookers.listed("left", "workspace")


def test_whoever_leaves_a_workspace_sees_its_runs_no_more(crowd: Crowd, store: Store) -> None:
    member = crowd.people["member"]
    theirs = crowd.fitting(lambda order, _: order.actor == member.actor and order.workspace_id == crowd.workspace)
    runs = crowd.runs("member")
    before, told = runs.view, runs.facets()
    assert crowd.listed("member", "mine") >= theirs
    store.workspaces.remove(crowd.workspace, member.user_id or 0, by_owner=True)
    assert not crowd.listed("member") & theirs
    assert not crowd.listed("member", "mine") & theirs
    after = crowd.runs("member")
    assert after.view != before
    assert sum(count for _, count in after.facets().statuses) < sum(count for _, count in told.statuses)


def test_the_one_person_of_a_server_without_accounts_reads_and_changes_all(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    service = Service(read_settings(data_dir=tmp_path / "data", auth_disabled=True), store)
    workspace = store.workspaces.add("Reefs", None)
    assert workspace is not None
    run = store.runs.add(samples.run())
    alone = {"actor": "user:0", "model": "m", "created_at": 1.0}
    store.run_requests.add(RunRequest(run_id=run.id, workspace_id=workspace.id, **alone))  # type: ignore[arg-type]
    granted = grant(service, service.nobody)
    groups: tuple[Whose, ...] = ("", "mine", "workspace")
    for whose in groups:
        assert [found.id for found in granted.runs().page(whose=whose).items] == [run.id]
    assert [found.id for found in granted.runs().page(RunFilter(workspace="reefs")).items] == [run.id]
    ownership = granted.own_run(run.id).ownership()
    assert ownership is not None
    assert (ownership["may_change"], ownership["workspace_id"]) == (True, workspace.id)


def test_runs_are_found_by_workspace_dataset_and_configuration(store: Store, samples: "Samples", crowd: Crowd) -> None:
    given: list[dict[str, Any]] = [
        {"dataset_id": "d1", "dataset_version": 1, "configuration": "rollouts/a/eval.toml"},
        {"dataset_id": "d1", "dataset_version": 2, "configuration": "rollouts/b/eval.toml"},
        {"dataset_id": "d2", "dataset_version": 2, "configuration": "rollouts/a/eval.toml"},
    ]
    ids = []
    for fields in given:
        run = store.runs.add(samples.run())
        fields |= {"actor": "user:0", "model": "m", "created_at": 1.0, "workspace_id": crowd.workspace}
        store.run_requests.add(RunRequest(run_id=run.id, **fields))
        ids.append(run.id)
    assert crowd.listed("viewer", wanted=RunFilter(datasets=("d1",))) == set(ids[:2])
    assert crowd.listed("viewer", wanted=RunFilter(configurations=("rollouts/a/eval.toml",))) == {ids[0], ids[2]}
    both = RunFilter(datasets=("d1",), configurations=("rollouts/a/eval.toml",))
    assert crowd.listed("viewer", wanted=both) == {ids[0]}
    assert not crowd.listed("stranger", wanted=both)
    second = RunFilter(datasets=("d1",), dataset_versions=(2,))
    assert crowd.listed("viewer", wanted=second) == {ids[1]}
    here = crowd.listed("viewer", wanted=RunFilter(workspace=crowd.workspace))
    assert here == crowd.listed("viewer", wanted=RunFilter(workspace="REEFS")) == crowd.listed("viewer", "workspace")
    assert store.runs.count(RunFilter(workspace="nul\0")) == (0, True)


def test_branch_and_creator_filter_runs_and_are_facets_of_those_who_see_all_of_them(
    store: Store, samples: "Samples", crowd: Crowd
) -> None:
    known = crowd.runs("viewer").facets()
    fields: dict[str, Any] = {
        "actor": "user:77",
        "actor_name": "zoe",
        "model": "m",
        "created_at": 1.0,
        "state": "ended",
    }
    shared = store.runs.add(samples.run())
    given: dict[str, Any] = {"workspace_id": crowd.workspace, "branch": "try", "configuration": "configs/eval/a.toml"}
    store.run_requests.add(RunRequest(run_id=shared.id, **fields, **given))
    public = store.runs.add(samples.run(status=RunStatus.FINISHED))
    store.run_requests.add(RunRequest(run_id=public.id, visibility="gallery_public", **fields))
    assert crowd.listed("viewer", wanted=RunFilter(branches=("try",))) == {shared.id}
    assert crowd.listed("viewer", wanted=RunFilter(creators=("zoe", "nobody"))) == {shared.id}
    assert crowd.listed("stranger") >= {public.id}
    assert not crowd.listed("stranger", wanted=RunFilter(creators=("zoe",)))
    assert store.runs.list(RunFilter(creators=("zoe",))).items[-1].id == shared.id
    told = crowd.runs("viewer").facets()
    assert (told.branches, told.configurations) == ((("try", 1),), (("configs/eval/a.toml", 1),))
    assert set(told.creators) - set(known.creators) == {("zoe", 1)}
    assert dict(told.workspaces).keys() == {crowd.workspace}
    outside = crowd.runs("stranger").facets()
    assert (outside.branches, outside.configurations) == ((), ())
    assert crowd.workspace not in dict(outside.workspaces)
    assert "zoe" not in dict(outside.creators)


@pytest.mark.parametrize("name", ["left", "stranger", "mate"])
def test_the_workspace_of_others_is_refused_as_if_there_were_none(onlookers: Crowd, name: str) -> None:
    for reference in (onlookers.workspace, "Reefs", "no such"):
        with pytest.raises(Refusal, match=f"in no workspace '{reference}'") as refused:
            onlookers.runs(name).page(RunFilter(workspace=reference))
        assert refused.value.status == 404


def test_runs_of_a_deleted_workspace_are_private_to_those_who_submitted_them(crowd: Crowd, store: Store) -> None:
    here = crowd.fitting(lambda order, _: order.workspace_id == crowd.workspace)
    assert store.workspaces.delete(crowd.workspace)
    for name in crowd.people:
        theirs = {run_id for run_id in here if crowd.orders[run_id].actor == crowd.people[name].actor}
        assert crowd.listed(name) & here == (here if name == "root" else theirs), name


def test_runs_of_a_workspace_are_nobodys_own_in_quotas_and_usage(onlookers: Crowd) -> None:
    member = onlookers.people["member"]
    loose = onlookers.fitting(lambda order, _: order.actor == member.actor and order.workspace_id is None)
    alone = {run_id for run_id in loose if onlookers.orders[run_id].team_id is None}
    assert onlookers.service.store.quota_usage.solo(member.user_id or 0).runs == len(alone)
    groups = onlookers.service.store.usage.of_domain("", member.actor)
    assert sum(group.count for group in groups) == len(onlookers.orders)
    assert sum(group.count for group in groups if group.own) == len(loose)
    shown = onlookers.fitting(lambda order, _: order.workspace_id is None and order.visibility == PUBLIC)
    assert sum(group.count for group in groups if group.visibility == PUBLIC) == len(shown)
