"""Secrets of a workspace, as its members use them."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from mesocosm.server.key_ring import FILE_NAME

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, Person

CANARY = "canary-93b1-of-the-route"


class Reefs:
    """A workspace with a person in each role, and a stranger."""

    def __init__(self, hosted: "Hosted") -> None:
        self.hosted = hosted
        self.owner = hosted.member("ada")
        assert self.owner.user_id is not None
        workspaces = hosted.service.store.workspaces
        made = workspaces.add("Coral reefs", self.owner.user_id)
        assert made is not None
        self.id = made.id
        self.people: dict[str, Person] = {"owner": self.owner, "stranger": hosted.member("sid")}
        for role in ("admin", "member", "viewer"):
            self.people[role] = hosted.member(f"the-{role}")
            workspaces.add_member(made.id, self.people[role].user_id or 0, role)

    def path(self, *parts: str) -> str:
        """Return a path below the secrets, by the name of the workspace."""
        return "/".join((f"/api/workspaces/{quote('Coral reefs')}/secrets", *parts))

    def put(self, who: str, scope: str, name: str, value: Any = CANARY) -> Any:
        """Set a secret."""
        return self.people[who].request("PUT", self.path(scope, name), json={"value": value})

    def delete(self, who: str, scope: str, name: str) -> Any:
        """Delete a secret."""
        return self.people[who].request("DELETE", self.path(scope, name))

    def listed(self, who: str, **query: Any) -> list[tuple[str, str]]:
        """Return names and scopes of what somebody sees."""
        answer = self.people[who].get(self.path(), params=query)
        assert answer.status_code == 200, answer.text
        return [(one["name"], one["scope"]) for one in answer.json()]


@pytest.fixture
def reefs(hosted: "Hosted") -> Reefs:
    """Return a workspace."""
    return Reefs(hosted)


def test_a_secret_is_set_and_listed_without_its_value(reefs: Reefs) -> None:
    made = reefs.put("admin", "workspace", "API_KEY")
    assert made.status_code == 200, made.text
    assert made.json() | {"created_at": 0, "updated_at": 0} == {
        "name": "API_KEY",
        "scope": "workspace",
        "created_by": "the-admin",
        "usable": True,
        "created_at": 0,
        "updated_at": 0,
        "last_used_at": None,
    }
    (row,) = reefs.people["viewer"].get(reefs.path()).json()
    assert row == made.json()
    assert reefs.owner.get(f"/api/workspaces/{reefs.id}/secrets").json() == [row]


def test_who_may_set_and_delete_which(reefs: Reefs) -> None:
    wanted = {
        "owner": (200, 200, 204, 204),
        "admin": (200, 200, 204, 204),
        "member": (403, 200, 204, 403),
        "viewer": (403, 403, 404, 403),
        "stranger": (404, 404, 404, 404),
    }
    for who, codes in wanted.items():
        reefs.put("owner", "workspace", "API_KEY")
        found = (
            reefs.put(who, "workspace", "API_KEY"),
            reefs.put(who, "personal", "API_KEY"),
            reefs.delete(who, "personal", "API_KEY"),
            reefs.delete(who, "workspace", "API_KEY"),
        )
        assert tuple(answer.status_code for answer in found) == codes, who


def test_personal_secrets_are_seen_by_their_member_alone(reefs: Reefs) -> None:
    reefs.put("owner", "workspace", "SHARED")
    reefs.put("member", "personal", "MINE")
    assert reefs.listed("member") == [("MINE", "personal"), ("SHARED", "workspace")]
    assert reefs.listed("member", scope="personal") == [("MINE", "personal")]
    for who in ("owner", "admin", "viewer"):
        assert reefs.listed(who) == [("SHARED", "workspace")]
    assert reefs.delete("owner", "personal", "MINE").status_code == 404
    assert reefs.listed("member", scope="workspace") == [("SHARED", "workspace")]


def test_a_viewer_can_still_take_their_own_secret_back(reefs: Reefs) -> None:
    reefs.put("member", "personal", "MINE")
    store = reefs.hosted.service.store.workspaces
    store.set_role(reefs.id, reefs.people["member"].user_id or 0, "viewer", by_owner=True)
    assert reefs.delete("member", "personal", "MINE").status_code == 204


def test_what_a_run_would_lack_is_named(reefs: Reefs) -> None:
    reefs.put("owner", "workspace", "SHARED")
    reefs.put("member", "personal", "MINE")
    query = {"name": ["SHARED", "MINE", "NONE"]}
    answers = {who: reefs.people[who].get(reefs.path("missing"), params=query) for who in reefs.people}
    assert answers["member"].json() == {"missing": ["NONE"]}
    assert answers["owner"].json() == {"missing": ["MINE", "NONE"]}
    assert answers["viewer"].status_code == 403
    assert answers["stranger"].status_code == 404
    for names in ([], ["bad-name"], ["A"] * 201):
        assert reefs.owner.get(reefs.path("missing"), params={"name": names}).status_code == 422


@pytest.mark.parametrize("name", ["lower", "1KEY", "_OSMOSIS_X", "A-B", "A" * 129, "Ä", "A%0A", "A%00", "KEY=value"])
def test_what_is_no_name_is_refused(reefs: Reefs, name: str) -> None:
    for scope in ("workspace", "personal"):
        assert reefs.put("owner", scope, name).status_code == 422


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "MESOCOSM_TOKEN", "HOME", "HTTPS_PROXY"])
def test_what_the_processes_of_a_run_need_cannot_be_set(reefs: Reefs, name: str) -> None:
    answer = reefs.put("owner", "workspace", name)
    assert answer.status_code == 422
    assert name in answer.json()["detail"]


def test_values_have_up_to_64_kib_and_may_have_lines(reefs: Reefs) -> None:
    for value in ("x", "a\nb\r\n\tc\n", "é" * 32_768, '"quotes" $HOME `x` \\'):
        assert reefs.put("owner", "workspace", "API_KEY", value).status_code == 200
    assert reefs.put("owner", "workspace", "A" * 128).status_code == 200


@pytest.mark.parametrize(
    "value", ["", " \n", f"{CANARY}\0", CANARY * 4_000, 77_001, None, [CANARY], {"x": CANARY}, "**********"]
)
def test_a_refused_value_is_in_no_answer_and_no_log(reefs: Reefs, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answer = reefs.put("owner", "workspace", "API_KEY", value)
    assert answer.status_code == 422, answer.text
    assert "value" in answer.json()["detail"]
    for text in (answer.text, caplog.text):
        assert "canary" not in text
        assert "77001" not in text
    assert reefs.listed("owner") == []


@pytest.mark.parametrize(
    "body",
    [
        f'{{"value": "{CANARY}"',
        f'{{"value": "{CANARY}\\ud800"}}',
        f'["{CANARY}"]',
        f'"{CANARY}"',
        f'{{"valeu": "{CANARY}"}}',
        f"value={CANARY}",
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_form_is_not_repeated(
    reefs: Reefs, body: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = reefs.owner.request(
        "PUT", reefs.path("workspace", "API_KEY"), content=body.encode(), headers={"Content-Type": kind}
    )
    assert answer.status_code in {400, 415, 422}, answer.text
    assert "canary" not in answer.text + caplog.text


def test_nothing_that_the_server_answers_writes_or_logs_has_a_value(
    reefs: Reefs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = [reefs.put(who, scope, "API_KEY") for who in reefs.people for scope in ("workspace", "personal")]
    told += [person.get(reefs.path()) for person in reefs.people.values()]
    told += [person.get(reefs.path("missing"), params={"name": "API_KEY"}) for person in reefs.people.values()]
    root = reefs.hosted.admin()
    told += [reefs.delete(who, "personal", "API_KEY") for who in reefs.people]
    told += [root.get(path) for path in ("/api/admin/status", "/api/admin/audit")]
    assert {"secret.set", "secret.delete"} <= {entry["action"] for entry in told[-1].json()["entries"]}
    for answer in told:
        assert CANARY not in answer.text
        assert CANARY not in str(answer.headers)
    assert CANARY not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    for path in files:
        assert CANARY.encode() not in path.read_bytes()


def test_the_audit_has_names_and_who_did_it(reefs: Reefs) -> None:
    reefs.put("admin", "workspace", "API_KEY")
    reefs.delete("admin", "workspace", "API_KEY")
    entries = reefs.hosted.service.store.audit.list()[:2]
    for entry, action in zip(entries, ("secret.delete", "secret.set"), strict=True):
        assert (entry.action, entry.actor) == (action, f"user:{reefs.people['admin'].user_id}")
        assert entry.target == f"workspace:{reefs.id}"
        assert entry.detail == {"name": "API_KEY", "scope": "workspace"}


def test_without_its_key_a_secret_is_listed_as_unusable_and_the_rest_says_what_to_do(
    reefs: Reefs, tmp_path: Path
) -> None:
    reefs.put("owner", "workspace", "API_KEY")
    file = next(tmp_path.rglob(FILE_NAME))
    for content in (None, "garbage", ""):
        if content is None:
            file.unlink()
        else:
            file.write_text(content)
        (row,) = reefs.owner.get(reefs.path()).json()
        assert row["usable"] is False
        for answer in (
            reefs.put("owner", "workspace", "OTHER"),
            reefs.owner.get(reefs.path("missing"), params={"name": "API_KEY"}),
        ):
            assert answer.status_code == 503
            assert FILE_NAME in answer.json()["detail"]
            assert str(tmp_path) not in answer.text
            assert "garbage" not in answer.text
    assert reefs.delete("owner", "workspace", "API_KEY").status_code == 204


def test_what_is_not_there_is_not_deleted(reefs: Reefs) -> None:
    answer = reefs.delete("owner", "workspace", "API_KEY")
    assert answer.status_code == 404
    assert "API_KEY" in answer.json()["detail"]


def test_a_token_that_may_only_read_sets_nothing(reefs: Reefs) -> None:
    made = reefs.owner.post("/api/tokens", {"name": "CI", "scope": "read"})
    assert made.status_code == 201, made.text
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    path = reefs.path("workspace", "API_KEY")
    answer = reefs.hosted.request("PUT", path, headers=headers, json={"value": CANARY})
    assert answer.status_code == 403
    assert reefs.listed("owner") == []


def test_a_deleted_workspace_has_no_secrets_any_more(reefs: Reefs) -> None:
    reefs.put("owner", "workspace", "API_KEY")
    reefs.hosted.service.store.workspaces.delete(reefs.id)
    assert not reefs.hosted.service.store.workspace_secrets.exist()
    assert reefs.put("owner", "workspace", "API_KEY").status_code == 404
