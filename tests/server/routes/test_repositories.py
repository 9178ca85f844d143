"""Git Sync of a workspace over the API, and the webhook that Git hosts call."""

import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from sqlalchemy import update

from mesocosm.server.builds.git_credentials import credential_holder, read_credentials
from mesocosm.server.builds.synced_commit import synced_commit
from mesocosm.server.key_ring import PREFIX
from mesocosm.server.permissions import repositories
from mesocosm.server.refusal import Refusal
from mesocosm.store.repositories import SyncState
from mesocosm.store.tenancy import syncs

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, Person

URL = "https://github.com/Ada/Evals"
COMMIT = "a" * 40


def connected(owner: "Person", **given: Any) -> str:
    place: str = owner.post("/api/workspaces", {"name": "Reefs"}).json()["id"]
    answer = owner.request("PUT", f"/api/workspaces/{place}/repository", json={"url": URL, **given})
    assert answer.status_code == 201, answer.text
    return f"/api/workspaces/{place}"


def synced(hosted: "Hosted", commit: str = COMMIT, branch: str = "main") -> None:
    """Do what a worker does with every waiting sync."""
    syncs = hosted.service.store.syncs
    while (claimed := syncs.claim("worker", 30.0)) is not None:
        hosted.service.store.repositories.follow(claimed.repository_id, branch)
        over = {"state": SyncState.SUCCESS, "commit_id": commit, "branch": claimed.branch or branch, "ended_at": 1.0}
        assert syncs.save(msgspec.structs.replace(claimed, **over))


def numbers(owner: "Person", path: str) -> list[int]:
    return [one["number"] for one in owner.get(f"{path}/syncs").json()]


def test_a_workspace_has_one_repository_and_its_first_sync_waits(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada, folder="evals/")
    document = ada.get(f"{path}/repository").json()
    assert (document["identity"], document["url"]) == ("github.com/ada/evals", "https://github.com/ada/evals")
    assert (document["folder"], document["branch"]) == ("evals", "")
    (sync,) = ada.get(f"{path}/syncs").json()
    assert (sync["number"], sync["status"], sync["trigger"], sync["requested_by"]) == (
        1,
        "pending",
        "hand",
        ada.user_id,
    )
    again = ada.request("PUT", f"{path}/repository", json={"url": "https://github.com/ada/other"})
    assert again.status_code == 409
    assert "github.com/ada/evals already" in again.json()["detail"]
    assert ada.request("DELETE", f"{path}/repository").status_code == 204
    assert ada.get(f"{path}/repository").status_code == 404
    assert ada.get(f"{path}/syncs").json() == []


@pytest.mark.parametrize("url", ["https://evil.example/a/b", "/etc", "file:///etc", "git@github.com:a/b.git", "x"])
def test_addresses_that_this_server_does_not_take_are_refused(hosted: "Hosted", url: str) -> None:
    ada = hosted.member("ada")
    path = f"/api/workspaces/{ada.post('/api/workspaces', {'name': 'Reefs'}).json()['id']}"
    assert ada.request("PUT", f"{path}/repository", json={"url": url}).status_code == 422
    assert ada.get(f"{path}/repository").status_code == 404


def test_members_sync_and_viewers_read(hosted: "Hosted") -> None:
    ada, ben, cid = (hosted.member(name) for name in ("ada", "ben", "cid"))
    path = connected(ada)
    synced(hosted)
    ada.post(f"{path}/members", {"username": "ben", "role": "viewer"})
    assert ben.post(f"{path}/syncs", {}).status_code == 403
    assert ben.get(f"{path}/syncs/1").json()["sync"]["commit"] == COMMIT
    assert cid.get(f"{path}/syncs/1").status_code == 404
    ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "member"})
    answer = ben.post(f"{path}/syncs", {"commit": "b" * 40})
    assert (answer.status_code, answer.json()["commit"], answer.json()["branch"]) == (202, "b" * 40, "main")
    assert ben.request("DELETE", f"{path}/repository").status_code == 403
    assert ben.post(f"{path}/repository/hook").status_code == 403
    for body in ({"commit": "b" * 7}, {"branch": "--upload-pack=x"}, {"branch": "a..b"}):
        assert ben.post(f"{path}/syncs", body).status_code == 422


def pushed(hosted: "Hosted", url: str, body: Any, **headers: str) -> tuple[int, Any]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = hosted.anonymous.request("POST", url, content=content, headers=given)
    return answer.status_code, answer.json().get("sync", answer.json().get("detail"))


def signed(secret: str, body: bytes) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def test_a_push_queues_a_sync_whoever_the_git_host_is(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada)
    synced(hosted)
    hook = ada.post(f"{path}/repository/hook").json()
    url, secret = hook["url"], hook["secret"]
    body = json.dumps({"ref": "refs/heads/main", "after": "b" * 40}).encode()
    form = b"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D"
    for content, headers in (
        (body, {"X_Hub_Signature_256": signed(secret, body)}),
        (form, {"X_Hub_Signature_256": signed(secret, form)}),
        (body, {"X_Gitlab_Token": secret}),
        (b"not JSON", {"X_Mesocosm_Token": secret}),
    ):
        queued = pushed(hosted, url, content, **headers)
        assert queued[0] == 202
        # Until a worker begins it, further pushes are the same sync.
        assert pushed(hosted, url, content, **headers) == queued
        synced(hosted)
    assert numbers(ada, path) == [5, 4, 3, 2, 1]
    assert ada.get(f"{path}/syncs").json()[0]["trigger"] == "push"


def test_what_brings_nothing_new_changes_nothing(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada)
    synced(hosted)
    hook = ada.post(f"{path}/repository/hook").json()
    url, token = hook["url"], {"X_Mesocosm_Token": hook["secret"]}
    for body in (
        {"ref": "refs/heads/main", "after": COMMIT},
        {"ref": "refs/heads/main", "after": "0" * 40},
        {"ref": "refs/heads/other", "after": "b" * 40},
        {"ref": "refs/tags/main"},
        {"ref": "refs/heads/--upload-pack=x"},
    ):
        assert pushed(hosted, url, body, **token) == (202, None), body
    assert pushed(hosted, url, {}, X_GitHub_Event="ping", **token) == (202, None)
    assert numbers(ada, path) == [1]
    # A branch that somebody synced is followed.
    ada.post(f"{path}/syncs", {"branch": "other"})
    synced(hosted)
    assert pushed(hosted, url, {"ref": "refs/heads/other", "after": "b" * 40}, **token) == (202, 3)


def test_a_wrong_secret_and_no_webhook_are_answered_alike(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada)
    synced(hosted)
    hook_id = ada.get(f"{path}/repository").json()["id"]
    unset = pushed(hosted, f"/api/hooks/git/{hook_id}", {})
    hook = ada.post(f"{path}/repository/hook").json()
    body = json.dumps({"ref": "refs/heads/main"}).encode()
    tries: list[dict[str, str]] = [
        *({}, {"X_Mesocosm_Token": ""}, {"X_Gitlab_Token": "wrong"}, {"X_Hub_Signature_256": "sha256="}),
        *({"X_Hub_Signature_256": signed("wrong", body)}, {"X_Hub_Signature_256": signed(hook["secret"], b"other")}),
    ]
    told = {pushed(hosted, hook["url"], body, **headers) for headers in tries}
    told |= {pushed(hosted, f"/api/hooks/git/{hook_id[::-1]}", body, X_Mesocosm_Token=hook["secret"]), unset}
    assert told == {(404, "there is no such webhook, or its secret is another one")}
    renewed = ada.post(f"{path}/repository/hook").json()
    assert pushed(hosted, hook["url"], body, X_Mesocosm_Token=hook["secret"])[0] == 404
    assert pushed(hosted, hook["url"], body, X_Mesocosm_Token=renewed["secret"])[0] == 202
    assert numbers(ada, path) == [2, 1]
    assert hook["secret"] not in str(hosted.service.store.audit.list())
    assert ada.get(f"{path}/secrets").json() == []
    ada.request("DELETE", f"{path}/repository")
    assert pushed(hosted, hook["url"], body, X_Mesocosm_Token=renewed["secret"])[0] == 404


def test_a_commit_is_reused_awaited_or_synced(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada)

    def asked(**body: Any) -> tuple[int, int, str]:
        answer = ada.post(f"{path}/syncs", {"reuse": True, **body})
        document = answer.json()
        return answer.status_code, document.get("number", 0), document.get("status", document.get("detail"))

    # The first sync of the repository waits, which will bring the newest commit of the default branch.
    assert asked() == (202, 1, "pending")
    synced(hosted)
    assert asked() == (202, 1, "success")
    assert asked(branch="main") == (202, 1, "success")
    assert asked(commit=COMMIT) == (202, 1, "success")
    other = "b" * 40
    assert asked(commit=other) == (202, 2, "pending")
    assert asked(commit=other) == (202, 2, "pending")
    assert ada.get(f"{path}/syncs/2").json()["sync"]["trigger"] == "submit"
    assert asked() == (202, 1, "success")
    synced(hosted, other)
    assert asked(commit=other) == (202, 2, "success")
    assert asked(branch="try") == (202, 3, "pending")
    claimed = hosted.service.store.syncs.claim("worker", 30.0)
    assert claimed is not None
    assert asked(branch="try") == (202, 3, "syncing")
    hosted.service.store.syncs.save(msgspec.structs.replace(claimed, state=SyncState.FAILED, ended_at=1.0))
    # What failed is tried again.
    assert asked(branch="try") == (202, 4, "pending")


def test_submission_gets_the_snapshot_or_the_sync_to_wait_for(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    store = hosted.service.store
    made = store.workspaces.add("Atolls", ada.user_id)
    assert made is not None
    with pytest.raises(Refusal, match="has no repository; connect one") as refused:
        synced_commit(hosted.service, made, "", "", ada.user_id)
    assert refused.value.status == 409
    path = connected(ada)
    found = store.workspaces.membership("Reefs", ada.user_id)
    assert found is not None
    with pytest.raises(Refusal, match=r"the repository of .* is being synced \(sync 1\)") as refused:
        synced_commit(hosted.service, found.workspace, "", "", ada.user_id)
    assert refused.value.more == {"sync": 1}
    synced(hosted)
    snapshot = store.snapshots.add([], lambda _: b"").digest
    store.database.execute(update(syncs).values(snapshot=snapshot))
    for branch, commit in (("", ""), ("main", ""), ("", COMMIT), ("", COMMIT[:7])):
        assert synced_commit(hosted.service, found.workspace, branch, commit, ada.user_id).snapshot == snapshot
    for commit, told in (("b" * 8, "write all of its digits"), ("HEAD", "is no commit"), ("a", "is no commit")):
        with pytest.raises(Refusal, match=told):
            synced_commit(hosted.service, found.workspace, "", commit, ada.user_id)
    with pytest.raises(Refusal, match=r"commit bbbbbbbbbbbb of .* is being synced \(sync 2\)"):
        synced_commit(hosted.service, found.workspace, "", "b" * 40, ada.user_id)
    assert numbers(ada, path) == [2, 1]


def test_a_submission_that_is_repeated_learns_why_the_sync_failed(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    store = hosted.service.store
    path = connected(ada)
    synced(hosted)
    found = store.workspaces.membership("Reefs", ada.user_id)
    assert found is not None

    def told(branch: str = "", commit: str = "") -> str:
        with pytest.raises(Refusal) as refused:
            synced_commit(hosted.service, found.workspace, branch, commit, ada.user_id)
        return str(refused.value)

    for number, given in ((2, {"branch": "nope"}), (3, {"commit": "b" * 40})):
        assert f"is being synced (sync {number})" in told(**given)
        claimed = store.syncs.claim("worker", 30.0)
        assert claimed is not None
        over = msgspec.structs.replace(claimed, state=SyncState.FAILED, error="there is none", ended_at=time.time())
        store.syncs.save(over)
        assert f"could not be synced (sync {number}): there is none; mend that" in told(**given)
    assert numbers(ada, path) == [3, 2, 1]
    store.database.execute(update(syncs).values(ended_at=time.time() - 61))
    assert "is being synced (sync 4)" in told(branch="nope")


TOKEN = "glpat-swordfish-0123456789"


# Made by `ssh-keygen -t ed25519 -N word`; cryptography writes such keys only with another package.
LOCKED = """-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABD7FtVBuU
K47bQB5dGeRk1SAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIKpJD3DqUtN86Lv9
UBelNfkiBe8w73XZcf0/Y1xNul6pAAAAkLxb8bedB4wWvtgoBiBJi9hPPDTaYjkPRxIXtZ
o4AuTO+u9boCuPJ4+Q07YPOcZL2WbobYWPSMH2To2mtyM1wrLdj+qXRTr1BbLdwbtQ9UvM
27BD1wAhfAF6yDVeOrU2YKsZTIftETr63PIu8kxwuuQgWJaO4nrGYWlcvF2XVhx7sQyhrr
zF9v0KTO1Bt+3+6A==
-----END OPENSSH PRIVATE KEY-----
"""


def private_key() -> str:
    key, no = ed25519.Ed25519PrivateKey.generate(), serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, no).decode()


def test_a_token_is_kept_replaced_and_deleted_and_never_shown(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada, credentials={"token": TOKEN})
    answer = ada.request("PUT", f"{path}/repository/credentials", json={"token": f"{TOKEN}-2", "username": "bot"})
    assert answer.status_code == 200
    (one,) = answer.json()["credentials"]
    assert (one["kind"], one["created_by"], one["last_used_at"], one["usable"]) == ("token", "ada", None, True)
    store = hosted.service.store
    workspace = store.workspaces.membership("Reefs", ada.user_id)
    assert workspace is not None
    repository = store.repositories.of(workspace.workspace.id)
    assert repository is not None
    kept = read_credentials(hosted.service, repository)
    assert (kept.username, kept.token and kept.token.get_secret_value()) == ("bot", f"{TOKEN}-2")
    assert ada.get(f"{path}/repository").json()["credentials"][0]["last_used_at"] is not None
    seen = [answer.text, ada.get(f"{path}/repository").text, ada.get(f"{path}/secrets").text, str(kept)]
    assert TOKEN not in "".join([*seen, str(store.audit.list())])
    assert ada.get(f"{path}/secrets").json() == []
    assert ada.request("DELETE", f"{path}/repository/credentials/token").status_code == 204
    assert ada.request("DELETE", f"{path}/repository/credentials/token").status_code == 404
    assert ada.get(f"{path}/repository").json()["credentials"] == []


def test_a_deploy_key_goes_with_an_ssh_address_and_its_host_keys(
    hosted: "Hosted", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "OPERATORS_HOST_KEYS", tmp_path / "none")
    ada = hosted.member("ada")
    place = ada.post("/api/workspaces", {"name": "Reefs"}).json()["id"]
    key, line = private_key(), "github.com ssh-ed25519 AAAA\n"

    def refused(url: str, **given: str) -> str:
        body = {"url": url, **({"credentials": given} if given else {})}
        answer = ada.request("PUT", f"/api/workspaces/{place}/repository", json=body)
        assert answer.status_code == 422, answer.text
        assert key not in answer.text
        assert "PRIVATE KEY" not in answer.text
        return str(answer.json())

    ssh = "git@github.com:Ada/Evals.git"
    assert "which needs a deploy key" in refused(ssh)
    assert "connect ssh://git@github.com/ada/evals with the key" in refused(URL, deploy_key=key, host_keys=line)
    told = refused("ssh://git@github.com/a/b", deploy_key=key)
    assert "needs the host keys of github.com" in told
    assert "(ssh-keygen -F github.com)" in told
    assert "has a passphrase; make a key without one" in refused(ssh, deploy_key=LOCKED, host_keys=line)
    assert "is not a private SSH key" in refused(ssh, deploy_key=key[:90], host_keys=line)
    assert "line 1 is not of a known_hosts file" in refused(ssh, deploy_key=key, host_keys="SHA256:abc")
    body = {"url": ssh, "credentials": {"deploy_key": key, "host_keys": line, "token": TOKEN}}
    answer = ada.request("PUT", f"/api/workspaces/{place}/repository", json=body)
    assert answer.status_code == 201, answer.text
    document = answer.json()
    assert (document["identity"], document["url"]) == ("github.com/ada/evals", "ssh://git@github.com/ada/evals")
    assert [one["kind"] for one in document["credentials"]] == ["deploy-key", "token"]
    ada.request("DELETE", f"/api/workspaces/{place}/repository")
    kept = hosted.service.store.workspace_secrets.list(place, [credential_holder(document["id"])], PREFIX)
    assert kept == ()


@pytest.mark.parametrize(
    "body", [{}, {"token": ""}, {"token": f"{TOKEN} x"}, {"token": f"{TOKEN}\n-x"}, {"token": TOKEN, "username": "a:b"}]
)
def test_what_is_no_credential_is_refused_without_repeating_it(hosted: "Hosted", body: dict[str, str]) -> None:
    ada = hosted.member("ada")
    path = connected(ada)
    answer = ada.request("PUT", f"{path}/repository/credentials", json=body)
    assert answer.status_code == 422
    assert TOKEN not in answer.text


def test_only_admins_and_owners_set_credentials(hosted: "Hosted") -> None:
    ada, ben, cid = (hosted.member(name) for name in ("ada", "ben", "cid"))
    path = connected(ada)
    ada.post(f"{path}/members", {"username": "ben", "role": "member"})
    for person, status in ((ben, 403), (cid, 404)):
        body = {"token": TOKEN}
        assert person.request("PUT", f"{path}/repository/credentials", json=body).status_code == status
        assert person.request("DELETE", f"{path}/repository/credentials/token").status_code == status
    ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "admin"})
    assert ben.request("PUT", f"{path}/repository/credentials", json={"token": TOKEN}).status_code == 200
    assert "workspace.credentials" in str(hosted.service.store.audit.list())


def test_a_second_repository_leaves_no_credential_behind(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = connected(ada)
    other = {"url": "https://github.com/ada/other", "credentials": {"token": TOKEN}}
    assert ada.request("PUT", f"{path}/repository", json=other).status_code == 409
    assert not hosted.service.store.workspace_secrets.exist()
