"""Uploads of workspace directories over HTTP: what is sent, what is refused, and who may do what."""

import time
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import Snapshot, SnapshotFile, snapshot_of
from mesocosm.server.schemas.snapshot import LARGEST_FILE, pack_contents
from mesocosm.server.workers.cleanup import clean
from mesocosm.store.repositories import Sync, SyncState, new_repository
from mesocosm.store.schema import blobs
from mesocosm.store.tenancy import snapshot_upload_blobs, snapshot_uploads

CONFIG = (
    b'[experiment]\nrollout = "words"\nentrypoint = "main.py"\nmodel_path = "openai/gpt-5-mini"\ndataset = "hard"\n'
)
FILES = {"rollouts/words/main.py": b"print()\n", "configs/eval/hard.toml": CONFIG, "data/hard.jsonl": b"{}\n"}
Contents = dict[str, bytes]
LISTED_A = b'[{"path":"a","digest":"0","size":0,"executable":false,"link":false}]'
LISTED_B = LISTED_A.replace(b'"a"', b'"b"')


def listed(files: Contents, links: Contents | None = None) -> Snapshot:
    """Return the snapshot of some contents by path."""
    plain = [SnapshotFile(path, digest_bytes(content), len(content)) for path, content in files.items()]
    linked = [SnapshotFile(path, digest_bytes(to), len(to), link=True) for path, to in (links or {}).items()]
    return snapshot_of([*plain, *linked])


class Desk:
    """A workspace with a person of each role."""

    def __init__(self, hosted: Hosted, name: str = "Reef") -> None:
        self.hosted = hosted
        self.people = {role: hosted.member(f"{role}-of-{name}") for role in ("owner", "member", "viewer", "stranger")}
        made = hosted.service.store.workspaces.add(name, self.people["owner"].user_id)
        assert made is not None
        self.id = made.id
        for role in ("member", "viewer"):
            hosted.service.store.workspaces.add_member(made.id, self.people[role].user_id or 0, role)
        self.base = f"/api/workspaces/{name}/snapshots"

    def __getitem__(self, who: str) -> Person:
        return self.people[who]

    def begin(self, snapshot: Snapshot, who: str = "member", **given: Any) -> httpx.Response:
        return self[who].post(self.base, {"digest": snapshot.digest, **given})

    def put(self, snapshot_id: str, *contents: bytes, who: str = "member") -> httpx.Response:
        return self[who].request("PUT", f"{self.base}/{snapshot_id}/contents", content=pack_contents(list(contents)))

    def complete(self, snapshot_id: str, who: str = "member") -> httpx.Response:
        return self[who].post(f"{self.base}/{snapshot_id}/complete")

    def upload(self, files: Contents, links: Contents | None = None, **given: Any) -> httpx.Response:
        """Send everything that is missing; return the answer that ends the upload, or the first refusal."""
        snapshot = listed(files, links)
        begun = self.begin(snapshot, **given).json()
        contents = {digest_bytes(content): content for content in [*files.values(), *(links or {}).values()]}
        while begun["missing"]:
            sent = [contents.get(digest, snapshot.listing) for digest in begun["missing"]]
            answer = self.put(begun["id"], *sent)
            if answer.status_code != 200:
                return answer
            begun = answer.json()
        return self.complete(begun["id"])


@pytest.fixture
def desk(hosted: Hosted) -> Desk:
    """A workspace without a repository."""
    return Desk(hosted)


def test_a_directory_is_uploaded_and_inspected_as_a_sync_is(desk: Desk) -> None:
    commit = {"repository": "github.com/a/evals", "branch": "main", "commit": "a" * 40}
    answer = desk.upload(FILES, {"rollouts/words/data": b"../../data"}, **commit, dirty=True, changes="+print()")
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert {name: document[name] for name in commit} == commit
    assert (document["dirty"], document["changes"], document["files"]) == (True, "+print()", 4)
    assert [one["name"] for one in document["rollouts"]] == ["words"]
    (config,) = document["configurations"]
    assert (config["path"], config["valid"]) == ("configs/eval/hard.toml", True)
    assert document["created_by"] == desk["member"].user_id
    assert desk["viewer"].get(f"{desk.base}/{document['id']}").json() == document
    snapshots = desk.hosted.service.store.snapshots
    kept = snapshots.get(document["digest"])
    found = {file.path: snapshots.content(file) for file in kept.files if not file.link}
    assert found == FILES
    assert not list((desk.hosted.service.settings.data_dir / "syncs").iterdir())


def test_only_what_the_workspace_does_not_have_is_sent(desk: Desk) -> None:
    first = desk.upload(FILES).json()
    same = desk.begin(listed(FILES)).json()
    assert (same["id"], same["completed"], same["missing"]) == (first["id"], True, [])
    changed = listed({**FILES, "rollouts/words/main.py": b"print(2)\n"})
    begun = desk.begin(changed).json()
    assert begun["missing"] == [changed.digest]
    assert desk.put(begun["id"], changed.listing).json()["missing"] == [digest_bytes(b"print(2)\n")]


def test_what_a_sync_brought_need_not_be_sent(desk: Desk) -> None:
    store = desk.hosted.service.store
    row = new_repository(desk.id, "github.com/a/evals", "https://github.com/a/evals")
    store.repositories.connect(row)
    store.syncs.add(Sync(repository_id=row.id, number=0))
    claimed = store.syncs.claim("worker", 30.0)
    assert claimed is not None
    kept = store.snapshots.add(listed(FILES).files, lambda file: FILES[file.path])
    done = {"state": SyncState.SUCCESS, "snapshot": kept.digest, "ended_at": time.time()}
    store.syncs.save(type(claimed)(**{**{name: getattr(claimed, name) for name in claimed.__struct_fields__}, **done}))
    begun = desk.begin(kept).json()
    assert begun["missing"] == []
    assert desk.complete(begun["id"]).json()["digest"] == kept.digest


def test_what_other_workspaces_have_is_not_told(hosted: Hosted, desk: Desk) -> None:
    desk.upload(FILES)
    other = Desk(hosted, "Atoll")
    snapshot = listed(FILES)
    begun = other.begin(snapshot).json()
    assert begun["missing"] == [snapshot.digest]
    missing = other.put(begun["id"], snapshot.listing).json()["missing"]
    assert missing == [file.digest for file in snapshot.files]
    refused = other.complete(begun["id"])
    assert (refused.status_code, "3 contents" in refused.json()["detail"]) == (409, True)


def test_members_upload_and_viewers_read(desk: Desk) -> None:
    snapshot = listed(FILES)
    assert desk.begin(snapshot, "viewer").status_code == 403
    assert desk.begin(snapshot, "stranger").status_code == 404
    begun = desk.begin(snapshot).json()
    assert desk.put(begun["id"], snapshot.listing, who="viewer").status_code == 403
    assert desk.put(begun["id"], snapshot.listing, who="stranger").status_code == 404
    assert desk.complete(begun["id"], "viewer").status_code == 403
    assert desk["viewer"].get(f"{desk.base}/{begun['id']}").status_code == 409
    done = desk.upload(FILES).json()
    assert desk["viewer"].get(f"{desk.base}/{done['id']}").status_code == 200
    assert desk["stranger"].get(f"{desk.base}/{done['id']}").status_code == 404


def test_a_snapshot_of_another_workspace_does_not_exist(hosted: Hosted, desk: Desk) -> None:
    done = desk.upload(FILES).json()
    other = Desk(hosted, "Atoll")
    assert other["owner"].get(f"{other.base}/{done['id']}").status_code == 404


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"../x": b""}, "no path within"),
        ({"/etc/x": b""}, "no path within"),
        ({"a//b": b""}, "no path within"),
        ({"a/.git/config": b""}, "belongs to a repository"),
        ({"a/.GIT/config": b""}, "belongs to a repository"),
        ({"a\nb": b""}, "control characters"),
        ({"a\0b": b""}, "control characters"),
        ({"x" * 256: b""}, "too long"),
        ({"/".join("x" * 120): b""}, "levels deep"),
        ({"a": b"", "a/b": b""}, "below a file"),
        ({}, "no files"),
    ],
)
def test_paths_that_are_not_taken(desk: Desk, files: Contents, told: str) -> None:
    answer = desk.upload(files)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    "links",
    [
        {"link": b"/etc/passwd"},
        {"link": b"../outside"},
        {"a/link": b"../../outside"},
        # A target that seems to lie inside leads out through another link.
        {"a/b/up": b"../..", "a/b/link": b"up/../outside"},
        {"link": b"\xff"},
        {"link": b""},
    ],
)
def test_links_to_other_places_are_refused(desk: Desk, links: Contents) -> None:
    answer = desk.upload(FILES, links)
    assert answer.status_code == 422
    assert "is a link to a place outside" in answer.json()["detail"]


def test_limits_are_those_of_syncs(open_hosted: OpenHosted, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(open_hosted(source_mb=1))
    answer = desk.upload({"a": bytes(600_000), "b": b"1" * 600_000, "c": b""})
    assert answer.status_code == 413
    assert "has 1,200,000 bytes" in answer.json()["detail"]
    assert "a (600,000 bytes)" in answer.json()["detail"]
    monkeypatch.setattr("mesocosm.server.builds.snapshot_check.MOST_FILES", 2)
    assert "has 3 files, more than the 2" in desk.upload({"a": b"", "b": b"", "c": b""}).json()["detail"]


def test_a_file_that_is_too_large_is_named(desk: Desk) -> None:
    snapshot = snapshot_of([SnapshotFile("data/all.bin", "0" * 32, LARGEST_FILE + 1)])
    answer = desk.put(desk.begin(snapshot).json()["id"], snapshot.listing)
    assert answer.status_code == 413
    assert answer.json()["detail"].startswith("data/all.bin has")


def test_a_workspace_without_room_says_so(open_hosted: OpenHosted) -> None:
    desk = Desk(open_hosted(workspace_uploads_mb=1))
    assert desk.upload({"a": bytes(700_000)}).status_code == 200
    # Equal files count once.
    assert desk.upload({"a": bytes(700_000), "b": b"1"}).status_code == 200
    answer = desk.upload({"a": b"1" * 700_000})
    assert answer.status_code == 413
    assert "connect a repository" in answer.json()["detail"]


def test_contents_are_checked(desk: Desk) -> None:
    snapshot = listed(FILES)
    begun = desk.begin(snapshot).json()["id"]
    assert desk.put(begun, b"[]").status_code == 422
    assert desk.put(begun, snapshot.listing, b"more").status_code == 422
    path = f"{desk.base}/{begun}/contents"
    assert desk["member"].request("PUT", path, content=b"\0\0\0\7abc").status_code == 422
    assert desk.put(begun, snapshot.listing).status_code == 200
    damaged = desk.put(begun, b"print( )\n")
    assert (damaged.status_code, "belongs to no file" in damaged.json()["detail"]) == (422, True)
    assert desk.put(begun, *FILES.values()).json()["missing"] == []
    assert desk.put(begun, *FILES.values()).status_code == 200
    assert desk.complete(begun).status_code == 200
    assert desk.complete(begun).status_code == 200
    assert desk.put(begun, CONFIG).status_code == 409


@pytest.mark.parametrize(
    "listing",
    [
        b"{}",
        b"[1]",
        LISTED_A.replace(b"[", b"[ "),
        LISTED_B[:-1] + b"," + LISTED_A[1:],
        LISTED_A.replace(b'"a"', b'"\xff"'),
    ],
)
def test_lists_in_another_form_are_refused(desk: Desk, listing: bytes) -> None:
    begun = desk["member"].post(desk.base, {"digest": digest_bytes(listing)}).json()
    assert desk.put(begun["id"], listing).status_code == 422


def test_sizes_must_be_those_of_the_contents(desk: Desk) -> None:
    content = bytes(1_000)
    snapshot = snapshot_of([SnapshotFile("a", digest_bytes(content), 1)])
    begun = desk.begin(snapshot).json()["id"]
    desk.put(begun, snapshot.listing)
    desk.put(begun, content)
    answer = desk.complete(begun)
    assert (answer.status_code, "another size" in answer.json()["detail"]) == (422, True)


def test_abandoned_uploads_are_removed_with_what_came(desk: Desk) -> None:
    store, snapshot = desk.hosted.service.store, listed(FILES)
    begun = desk.begin(snapshot).json()
    desk.put(begun["id"], snapshot.listing)
    desk.put(begun["id"], *FILES.values())
    clean(desk.hosted.service)
    assert store.snapshot_uploads.get(desk.id, begun["id"]) is not None
    store.database.execute(update(snapshot_uploads).values(created_at=0.0))
    assert clean(desk.hosted.service).uploads == 1
    for table in (snapshot_uploads, snapshot_upload_blobs, blobs):
        assert store.database.all(select(table)) == []
    assert desk.put(begun["id"], b"").status_code == 404


def test_a_completed_snapshot_stays_until_its_workspace_is_deleted(desk: Desk) -> None:
    store = desk.hosted.service.store
    document = desk.upload(FILES).json()
    assert store.database.all(select(snapshot_upload_blobs)) == []
    assert store.snapshots.drop_unused(-1.0) == 0
    begun = desk.begin(listed({"a": b"unfinished"})).json()
    desk.put(begun["id"], listed({"a": b"unfinished"}).listing)
    assert store.workspaces.delete(desk.id)
    assert store.snapshots.drop_unused(-1.0) == 1
    assert store.database.all(select(blobs)) == []
    assert document["digest"] == listed(FILES).digest
