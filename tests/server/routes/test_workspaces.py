"""Workspaces, as people use them."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, OpenHosted, Person

NAME = "Coral reefs"
ROLES = ("viewer", "member", "admin", "owner")


def made(owner: "Person", name: str = NAME) -> str:
    answer = owner.post("/api/workspaces", {"name": name})
    assert answer.status_code == 201, answer.text
    return f"/api/workspaces/{answer.json()['id']}"


def added(owner: "Person", path: str, person: "Person", role: str) -> None:
    answer = owner.post(f"{path}/members", {"username": person.name, "role": role})
    assert (answer.status_code, answer.json()["role"]) == (201, role)


def roles(person: "Person", path: str) -> dict[str, str]:
    return {one["username"]: one["role"] for one in person.get(f"{path}/members").json()}


def audited(hosted: "Hosted") -> list[tuple[str, str, dict[str, Any]]]:
    entries = reversed(hosted.service.store.audit.list())
    return [(one.actor, one.action, dict(one.detail)) for one in entries if one.action.startswith("workspace.")]


def test_a_new_workspace_has_its_maker_as_owner(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    answer = ada.post("/api/workspaces", {"name": f"  {NAME} "})
    document = answer.json()
    assert answer.status_code == 201
    assert {**document, "id": "", "created_at": ""} == {
        "id": "",
        "name": NAME,
        "role": "owner",
        "members": 1,
        "budget_usd": None,
        "created_at": "",
    }
    assert ada.get("/api/workspaces").json() == [document]
    assert audited(hosted) == [(f"user:{ada.user_id}", "workspace.create", {"name": NAME})]


def test_a_workspace_is_named_in_a_path_by_id_or_name(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    made(ada, "a & b? 100 %, Riff-Ø")
    for name in ("a & b? 100 %, Riff-Ø", "A & B? 100 %, RIFF-Ø"):
        assert ada.get(f"/api/workspaces/{quote(name, safe='')}").json()["name"] == "a & b? 100 %, Riff-Ø"


AN_ID = "0190e4a0-0000-7000-8000-000000000000"
ALIKE = f"{AN_ID[:-1]}ａ"
"""A name whose key, by which it is found, is an id."""
BAD = ("", "  ", "x" * 65, "a/b", "/", ".", "..", "a\nb", "a\0b", "a\u202eb", "a\u200bb", "\ud800", 3, AN_ID, ALIKE)


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_cannot_be_is_refused(hosted: "Hosted", name: Any) -> None:
    ada = hosted.member("ada")
    path = made(ada)
    for method, place in (("POST", "/api/workspaces"), ("PATCH", path)):
        headers = {"Content-Type": "application/json"}
        answer = ada.request(method, place, content=json.dumps({"name": name}), headers=headers)
        assert answer.status_code == 422, (name, answer.text)
    assert [one["name"] for one in ada.get("/api/workspaces").json()] == [NAME]


@pytest.mark.parametrize("other", [NAME, NAME.upper(), "Coral\u00a0reefs", "Ｃoral reefs"])
def test_a_name_that_differs_in_case_alone_is_taken(hosted: "Hosted", other: str) -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    made(ada)
    path = made(ben, "Dunes")
    for answer in (ben.post("/api/workspaces", {"name": other}), ben.request("PATCH", path, json={"name": other})):
        assert answer.status_code == 409
        assert "taken" in answer.json()["detail"]
    assert ben.get(path).json()["name"] == "Dunes"


Try = Callable[["Person", str, "Person"], httpx.Response]
"""Somebody does something to the workspace at a path; the other person is a viewer in it."""


def changing(body: dict[str, Any]) -> Try:
    return lambda who, path, _: who.request("PATCH", path, json=body)


def adding(role: str) -> Try:
    return lambda who, path, _: who.post(f"{path}/members", {"username": "new", "role": role})


def making(role: str) -> Try:
    return lambda who, path, other: who.request("PATCH", f"{path}/members/{other.user_id}", json={"role": role})


def first_owner(who: "Person", path: str) -> int:
    return who.platform.service.store.workspaces.members(path.rpartition("/")[2])[0].user_id


TABLE: dict[str, tuple[Try, str]] = {
    # root is an administrator of the server, who is in no workspace
    "read": (lambda who, path, _: who.get(path), "viewer member admin owner root"),
    "list the members": (lambda who, path, _: who.get(f"{path}/members"), "viewer member admin owner root"),
    "leave": (lambda who, path, _: who.request("DELETE", f"{path}/members/me"), "viewer member admin owner"),
    "rename": (changing({"name": "Dunes"}), "admin owner root"),
    "add a viewer": (adding("viewer"), "admin owner root"),
    "add an admin": (adding("admin"), "admin owner root"),
    "make an admin": (making("admin"), "admin owner root"),
    "remove": (lambda who, path, one: who.request("DELETE", f"{path}/members/{one.user_id}"), "admin owner root"),
    "add an owner": (adding("owner"), "owner root"),
    "make an owner": (making("owner"), "owner root"),
    "demote an owner": (
        lambda who, path, _: who.request("PATCH", f"{path}/members/{first_owner(who, path)}", json={"role": "admin"}),
        "owner root",
    ),
    "remove an owner": (
        lambda who, path, _: who.request("DELETE", f"{path}/members/{first_owner(who, path)}"),
        "owner root",
    ),
    "delete": (lambda who, path, _: who.request("DELETE", path), "owner root"),
    "set the budget": (changing({"budget_usd": 5.0}), "root"),
    "take the default budget": (changing({"name": "Dunes", "budget_usd": None}), "root"),
    "rise": (
        lambda who, path, _: who.request("PATCH", f"{path}/members/{who.user_id}", json={"role": "owner"}),
        "owner",
    ),
}
"""What can be tried, and who may do it."""
REFUSED = {
    "anonymous": 401,
    "disabled": 401,
    "guest": 403,
    "stranger": 404,
    **dict.fromkeys(ROLES, 403),
}
NEUTRAL = {("leave", "root"): 409, ("rise", "root"): 404}
"""What comes to nothing, since an administrator of the server is no member."""


@pytest.fixture
def people(hosted: "Hosted") -> dict[str, "Person"]:
    """Somebody of each role, and others."""
    found = {name: hosted.member(name) for name in ("ada", *ROLES, "other", "stranger", "disabled", "new")}
    return {**found, "anonymous": hosted.anonymous, "guest": hosted.guest(), "root": hosted.admin("root")}


def staged(people: dict[str, "Person"], name: str) -> str:
    """Return the path of a new workspace with all of them in it."""
    path = made(people["ada"], name)
    users = people["ada"].platform.service.accounts.users
    users.set_disabled(people["disabled"].user_id or 0, disabled=False)
    for one in (*ROLES, "other", "disabled"):
        added(people["ada"], path, people[one], {"other": "viewer", "disabled": "owner"}.get(one, one))
    users.set_disabled(people["disabled"].user_id or 0, disabled=True)
    return path


@pytest.mark.parametrize("what", TABLE)
def test_who_may_do_what_in_a_workspace(people: dict[str, "Person"], what: str) -> None:
    attempt, may = TABLE[what]
    store = people["root"].platform.service.store
    path = staged(people, NAME)
    workspace_id = path.rpartition("/")[2]

    def state() -> object:
        return store.workspaces.membership(workspace_id, None), store.workspaces.members(workspace_id)

    before, entries = state(), store.audit.list()
    for who in sorted({*REFUSED, "root"} - set(may.split())):
        answer = attempt(people[who], path, people["other"])
        assert answer.status_code == NEUTRAL.get((what, who), REFUSED.get(who)), (who, answer.text)
        assert NAME not in answer.text or who in (*ROLES, "root"), who
        assert (state(), store.audit.list()) == (before, entries), who
    for who in may.split():
        assert attempt(people[who], path, people["other"]).is_success, who
        assert what in ("read", "list the members", "rise") or len(store.audit.list(limit=1_000)) > len(entries)
        store.workspaces.delete(workspace_id)
        path = staged(people, NAME)
        workspace_id, entries = path.rpartition("/")[2], store.audit.list(limit=1_000)


def test_a_workspace_of_others_is_as_one_that_does_not_exist(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = made(ada)
    for method, ending in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/members"), ("DELETE", "/members/me")):
        body = {"json": {"name": "Mine"}} if method == "PATCH" else {}
        told = set()
        for name in (NAME, path[16:], "Nothing"):
            answer = ben.request(method, f"/api/workspaces/{quote(name)}{ending}", **body)
            told.add((answer.status_code, answer.text.replace(quote(name), "X").replace(name, "X")))
        assert len(told) == 1, told
    assert ben.get("/api/workspaces").json() == []
    assert ben.get("/api/workspaces", params={"cursor": path[16:]}).json() == []


def test_adding_is_repeatable_and_changes_no_role(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = made(ada)
    for _ in range(2):
        answer = ada.post(f"{path}/members", {"username": "BEN"})
        assert (answer.status_code, answer.json()["role"]) == (201, "member")
    refused = ada.post(f"{path}/members", {"username": "ben", "role": "owner"})
    assert (refused.status_code, roles(ada, path)) == (409, {"ada": "owner", "ben": "member"})
    assert [entry[1:] for entry in audited(hosted)[1:]] == [
        ("workspace.add", {"user_id": ben.user_id, "role": "member"})
    ]


def test_accounts_that_are_unknown_or_disabled_are_not_added(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = made(ada)
    hosted.service.accounts.users.set_disabled(ben.user_id or 0, disabled=True)
    told = [ada.post(f"{path}/members", {"username": name}) for name in ("ben", "nix")]
    assert [answer.status_code for answer in told] == [404, 404]
    assert told[0].text.replace("ben", "nix") == told[1].text
    assert roles(ada, path) == {"ada": "owner"}


def test_names_of_accounts_cannot_be_tried_without_end(hosted: "Hosted", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.server.permissions.workspaces.UNKNOWN_NAMES_PER_HOUR", 2)
    ada, root = hosted.member("ada"), hosted.admin()
    path = made(ada)
    hosted.member("ben")
    statuses = [
        ada.post(f"{path}/members", {"username": name}).status_code for name in ("ben", "ben", "a", "ben", "b", "ben")
    ]
    assert statuses == [201, 201, 404, 201, 404, 429]
    assert int(ada.post(f"{path}/members", {"username": "c"}).headers["retry-after"]) > 0
    assert root.post(f"{path}/members", {"username": "c"}).status_code == 404


def test_whoever_is_disabled_or_removed_loses_access_at_once(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = made(ada)
    added(ada, path, ben, "admin")
    assert ben.get(path).json()["role"] == "admin"
    assert ada.request("DELETE", f"{path}/members/{ben.user_id}").status_code == 204
    assert ben.get(path).status_code == 404
    added(ada, path, ben, "viewer")
    token = ben.post("/api/tokens", {"name": "CI"}).json()["token"]
    hosted.service.accounts.users.set_disabled(ben.user_id or 0, disabled=True)
    for credential in (ben.token, token):
        assert hosted.request("GET", path, headers={"Authorization": f"Bearer {credential}"}).status_code == 401
    assert [one["disabled"] for one in ada.get(f"{path}/members").json()] == [False, True]


def test_the_last_owner_can_neither_leave_nor_step_down(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = made(ada)
    added(ada, path, ben, "admin")
    mine = f"{path}/members/{ada.user_id}"
    for answer in (
        ada.request("DELETE", f"{path}/members/me"),
        ada.request("DELETE", mine),
        ada.request("PATCH", mine, json={"role": "member"}),
        hosted.admin().request("DELETE", mine),
    ):
        assert answer.status_code == 409
        assert "another member an owner first" in answer.json()["detail"]
    assert ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "owner"}).status_code == 200
    assert ada.request("PATCH", mine, json={"role": "viewer"}).status_code == 200
    assert roles(ben, path) == {"ben": "owner", "ada": "viewer"}


def test_owners_who_all_leave_at_once_leave_one_behind(hosted: "Hosted") -> None:
    owners = [hosted.member(f"owner{number}") for number in range(6)]
    path = made(owners[0])
    for one in owners[1:]:
        added(owners[0], path, one, "owner")
    with ThreadPoolExecutor(len(owners)) as pool:
        answers = list(pool.map(lambda one: one.request("DELETE", f"{path}/members/me"), owners))
    assert sorted(answer.status_code for answer in answers) == [204] * 5 + [409]
    left = hosted.service.store.workspaces.members(path.rpartition("/")[2])
    assert [one.role for one in left] == ["owner"]


def test_what_is_done_is_audited(hosted: "Hosted") -> None:
    ada, ben, root = hosted.member("ada"), hosted.member("ben"), hosted.admin()
    path = made(ada)
    added(ada, path, ben, "viewer")
    ada.request("PATCH", path, json={"name": "Dunes"})
    root.request("PATCH", path, json={"budget_usd": 2.5})
    for _ in range(2):
        ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "admin"})
    ben.request("DELETE", f"{path}/members/me")
    ada.request("DELETE", path)
    ids = {"user_id": ben.user_id}
    assert audited(hosted)[1:] == [
        (f"user:{ada.user_id}", "workspace.add", {**ids, "role": "viewer"}),
        (f"user:{ada.user_id}", "workspace.rename", {"from": NAME, "to": "Dunes"}),
        (f"user:{root.user_id}", "workspace.budget", {"budget_usd": 2.5}),
        (f"user:{ada.user_id}", "workspace.role", {**ids, "role": "admin"}),
        (f"user:{ben.user_id}", "workspace.leave", ids),
        (f"user:{ada.user_id}", "workspace.delete", {"name": "Dunes"}),
    ]


def spend(hosted: "Hosted", workspace_id: str, usd: float) -> None:
    """Let a run of a workspace have cost something; it is about to be deleted."""
    spec = RunSpec(BenchmarkRef("rollout", "words"), ModelSettings("builtin/empty"))
    names: dict[str, Any] = dict.fromkeys(
        ("signature", "benchmark", "benchmark_title", "benchmark_digest", "agent"), "words"
    )
    run = Run(id="gone", benchmark_version="1", kind="rollout", model=spec.model.name, spec=spec, **names)
    request = RunRequest(run_id=run.id, actor="user:1", model="", workspace_id=workspace_id, created_at=time())
    store = hosted.service.store
    store.runs.add(run)
    store.run_requests.add(request)
    store.run_requests.remember_cost(request, usd)


def test_every_member_sees_the_budget_and_what_is_left(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(workspace_budget_usd=2.0)
    ada, ben, cid, root = hosted.member("ada"), hosted.member("ben"), hosted.member("cid"), hosted.admin()
    path = made(ada)
    added(ada, path, ben, "viewer")
    default = {"limit_usd": 2.0, "spent_usd": 0.0, "left_usd": 2.0}
    assert [one.get(f"{path}/budget").json() for one in (ada, ben, root)] == [default] * 3
    assert cid.get(f"{path}/budget").status_code == 404
    spend(hosted, path.rpartition("/")[2], 0.75)
    root.request("PATCH", path, json={"budget_usd": 0.5})
    assert ben.get(f"{path}/budget").json() == {"limit_usd": 0.5, "spent_usd": 0.75, "left_usd": 0.0}


def test_without_a_limit_nothing_is_left_of_a_budget(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    answer = ada.get(f"{made(ada)}/budget")
    assert answer.json() == {"limit_usd": None, "spent_usd": 0.0, "left_usd": None}


def test_administrators_of_the_server_see_all_workspaces_without_a_role(hosted: "Hosted") -> None:
    ada, root = hosted.member("ada"), hosted.admin()
    made(ada)
    made(root, "Dunes")
    listed = root.get("/api/workspaces").json()
    assert [(one["name"], one["role"], one["members"]) for one in listed] == [("Dunes", "owner", 1), (NAME, None, 1)]
    page = root.get("/api/workspaces", params={"limit": 1}).json()
    rest = root.get("/api/workspaces", params={"limit": 1, "cursor": page[0]["id"]}).json()
    assert [one["name"] for one in (*page, *rest)] == ["Dunes", NAME]


def test_a_server_without_accounts_has_workspaces_that_its_one_caller_owns(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(auth_disabled=True)
    anyone = hosted.anonymous
    path = made(anyone)
    document = anyone.get(path).json()
    assert (document["role"], document["members"]) == ("owner", 0)
    assert [one["role"] for one in anyone.get("/api/workspaces").json()] == ["owner"]
    assert anyone.get(f"{path}/members").json() == []
    assert anyone.request("PATCH", path, json={"name": "Dunes", "budget_usd": 3.0}).json()["budget_usd"] == 3.0
    own = {"X-Mesocosm": "1"}  # what a page of another site cannot send
    assert anyone.request("DELETE", f"{path}/members/me", headers=own).status_code == 409
    ada = hosted.service.store.users.add("ada")
    assert anyone.post(f"{path}/members", {"username": "ada", "role": "owner"}).status_code == 201
    assert anyone.request("DELETE", f"{path}/members/{ada.id}", headers=own).status_code == 409
    assert anyone.request("DELETE", path, headers=own).status_code == 204
    assert anyone.get("/api/workspaces").json() == []
