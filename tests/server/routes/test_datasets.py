"""Datasets over HTTP: uploads in parts, checks by a worker, downloads, and who may do what."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.server.workers import dataset_checks, foreign_files
from mesocosm.server.workers.cleanup import clean
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.server.workers.worker import work
from mesocosm.store import datasets as store_datasets
from mesocosm.store.datasets import DatasetState

PART = 64
ROWS = [{"user_prompt": f"{n} + 1?", "ground_truth": str(n + 1)} for n in range(20)]
DATA = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


class Reef:
    """A workspace with a person of each role, and ways to upload to it."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.people = {name: hosted.member(name) for name in ("owner", "admin", "member", "viewer", "stranger")}
        self.people["root"] = hosted.admin()
        store = hosted.service.store.workspaces
        made = store.add("Reef", self.people["owner"].user_id)
        assert made is not None
        self.id = made.id
        for role in ("admin", "member", "viewer"):
            user_id = self.people[role].user_id
            assert user_id is not None
            store.add_member(made.id, user_id, role)
        self.base = "/api/workspaces/Reef/datasets"

    def __getitem__(self, who: str) -> Person:
        return self.people[who]

    def begin(self, data: bytes = DATA, who: str = "member", **given: Any) -> httpx.Response:
        """Begin an upload."""
        digest = hashlib.sha256(data).hexdigest()
        return self[who].post(self.base, {"file_name": "hard.jsonl", "size": len(data), "digest": digest, **given})

    def put(self, begun: Any, part: int, data: bytes, who: str = "member", **query: Any) -> httpx.Response:
        """Send a part."""
        path = f"{self.base}/{begun['id']}/versions/{begun['version']}/parts/{part}"
        return self[who].request(
            "PUT", path, content=data, params={"digest": hashlib.sha256(data).hexdigest(), **query}
        )

    def send(self, begun: Any, data: bytes = DATA, who: str = "member") -> None:
        """Send all parts that are missing."""
        for part in range(1, begun["part_count"] + 1):
            if part not in begun["present"]:
                answer = self.put(begun, part, data[(part - 1) * PART : part * PART], who)
                assert answer.status_code == 200, answer.text

    def end(self, begun: Any, action: str = "complete", who: str = "member") -> httpx.Response:
        """Complete or abort an upload."""
        return self[who].post(f"{self.base}/{begun['id']}/versions/{begun['version']}/{action}")

    def check(self) -> None:
        """Do what a worker does with everything that waits."""
        while (claimed := self.hosted.service.store.datasets.claim_check("worker", 60.0)) is not None:
            asyncio.run(check_dataset_version(self.hosted.service, claimed))

    def upload(self, data: bytes = DATA, who: str = "member", **given: Any) -> Any:
        """Upload a file, check it, and return the dataset with its version."""
        answer = self.begin(data, who, **given)
        assert answer.status_code == 201, answer.text
        begun = answer.json()
        self.send(begun, data, who)
        assert self.end(begun, who=who).status_code == 202
        self.check()
        return self.get(begun["id"], version=begun["version"])

    def upload_in_parts(self, data: bytes, **given: Any) -> Any:
        """Upload a file whatever the size of parts, check it, and return it."""
        begun = self.begin(data, **given).json()
        for part in range(begun["part_count"]):
            piece = data[part * begun["part_size"] : (part + 1) * begun["part_size"]]
            assert self.put(begun, part + 1, piece).status_code == 200
        assert self.end(begun).status_code == 202
        self.check()
        return self.get(begun["id"], version=begun["version"])

    def get(self, name: str, who: str = "member", **query: Any) -> Any:
        """Return a dataset."""
        answer = self[who].get(f"{self.base}/{name}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_datasets, "PART_BYTES", PART)


@pytest.fixture
def reef(hosted: Hosted) -> Reef:
    return Reef(hosted)


def test_a_file_is_uploaded_checked_described_and_downloaded(reef: Reef) -> None:
    found = reef.upload()
    assert (found["name"], found["status"], found["version"], found["rows"]) == ("hard", "uploaded", 1, 20)
    current = found["current"]
    assert (current["mode"], current["faults"], current["digest"]) == ("prompt", [], hashlib.sha256(DATA).hexdigest())
    assert [column["name"] for column in current["columns"]] == ["user_prompt", "ground_truth"]
    assert current["columns"][0]["lengths"] == {"min": 6, "median": 6.5, "max": 7}
    preview = reef["viewer"].get(f"{reef.base}/HARD/preview", params={"limit": 2}).json()
    assert [(item["row"], item["cells"]) for item in preview["items"]] == list(enumerate(ROWS[:2]))
    answer = reef["viewer"].get(f"{reef.base}/hard/download")
    assert answer.content == DATA
    assert answer.headers["content-length"] == str(len(DATA))
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''hard.jsonl"
    assert reef.get("hard")["creator"] == "member"


@pytest.mark.parametrize("query", [{}, {"version": 1}])
@pytest.mark.parametrize("after", ["get", "current", "version"])
def test_a_check_that_ends_while_the_dataset_is_read_leaves_no_contradiction(
    reef: Reef, monkeypatch: pytest.MonkeyPatch, after: str, query: dict[str, Any]
) -> None:
    begun = reef.begin().json()
    reef.send(begun)
    reef.end(begun)
    real = getattr(store_datasets.Datasets, after)

    def read(store: store_datasets.Datasets, *given: Any) -> Any:
        found = real(store, *given)
        monkeypatch.setattr(store_datasets.Datasets, after, real)
        reef.check()
        return found

    monkeypatch.setattr(store_datasets.Datasets, after, read)
    found = reef.get("hard", **query)
    assert (found["status"], found["version"]) in {("uploaded", 1), ("processing", None)}
    assert found["current"]["status"] != "uploaded" or found["version"] == 1
    (listed,) = reef["member"].get(reef.base).json()["items"]
    assert (listed["status"], listed["version"], listed["rows"]) == ("uploaded", 1, 20)


def test_a_check_that_ends_while_datasets_are_listed_leaves_no_contradiction(
    reef: Reef, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = reef.begin().json()
    reef.send(begun)
    reef.end(begun)
    real = store_datasets.Datasets.list

    def read(store: store_datasets.Datasets, *given: Any, **named: Any) -> Any:
        found = real(store, *given, **named)
        reef.check()
        return found

    monkeypatch.setattr(store_datasets.Datasets, "list", read)
    (listed,) = reef["member"].get(reef.base).json()["items"]
    assert (listed["status"], listed["version"], listed["rows"]) == ("uploaded", 1, 20)


@pytest.mark.parametrize(
    ("given", "begin", "end"),
    [("bytes=0-0", 0, 1), ("bytes=60-70", 60, 71), ("bytes=100-", 100, len(DATA)), ("bytes=-5", -5, len(DATA))],
)
def test_a_range_is_downloaded(reef: Reef, given: str, begin: int, end: int) -> None:
    reef.upload()
    answer = reef["member"].get(f"{reef.base}/hard/download", headers={"Range": given})
    assert (answer.status_code, answer.content) == (206, DATA[begin:end])
    assert answer.headers["content-range"] == f"bytes {begin % len(DATA)}-{end - 1}/{len(DATA)}"
    again = {"Range": given, "If-Range": '"another"'}
    assert reef["member"].get(f"{reef.base}/hard/download", headers=again).content == DATA


def test_a_range_outside_of_the_file_is_refused(reef: Reef) -> None:
    reef.upload()
    answer = reef["member"].get(f"{reef.base}/hard/download", headers={"Range": f"bytes={len(DATA)}-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(DATA)}")


def test_an_upload_continues_where_it_stopped(reef: Reef) -> None:
    begun = reef.begin().json()
    assert (begun["part_size"], begun["part_count"], begun["present"]) == (PART, -(-len(DATA) // PART), [])
    reef.put(begun, 1, DATA[:PART])
    reef.put(begun, 3, DATA[2 * PART : 3 * PART])
    again = reef.begin().json()
    assert (again["id"], again["version"], again["present"]) == (begun["id"], 1, [1, 3])
    refused = reef.end(again)
    assert refused.status_code == 409
    assert "parts are missing (2, 4, 5" in refused.json()["detail"]
    reef.send(again)
    assert reef.end(again).json()["status"] == "processing"
    assert reef.end(again).json()["status"] == "processing"
    reef.check()
    same = reef.begin().json()
    assert (same["version"], same["status"]) == (1, "uploaded")
    assert reef.end(same).json()["status"] == "uploaded"


def test_an_existing_name_needs_overwrite_and_old_versions_stay(reef: Reef) -> None:
    first = reef.upload()
    other = DATA + DATA[: DATA.index(b"\n") + 1]
    refused = reef.begin(other)
    assert refused.status_code == 409
    assert refused.json()["existing_dataset_id"] == first["id"]
    second = reef.upload(other, overwrite=True)
    assert (second["id"], second["version"], second["rows"]) == (first["id"], 2, 21)
    assert second["updated_at"] > first["updated_at"]
    assert [version["version"] for version in second["versions"]] == [2, 1]
    assert second["current"]["rows_digest"] != first["current"]["rows_digest"]
    assert reef["member"].get(f"{reef.base}/hard/download", params={"version": 1}).content == DATA
    assert reef["member"].get(f"{reef.base}/hard/download").content == other
    assert reef["member"].get(f"{reef.base}/hard/download", params={"version": 3}).status_code == 404


def test_invalid_rows_are_named_and_the_version_before_stays_in_use(reef: Reef) -> None:
    reef.upload()
    bad = DATA + b'{"user_prompt": " "}\n{"user_prompt": "x", "ground_truth": NaN}\n'
    found = reef.upload(bad, overwrite=True)
    assert (found["status"], found["version"], found["current"]["status"]) == ("uploaded", 1, "error")
    assert found["current"]["faults_total"] == 1
    assert found["current"]["faults"][0] == {
        "path": "row 22, column ground_truth",
        "message": "is NaN, which is not JSON",
        "fix": 'write null, or a text ("NaN")',
    }
    assert reef["member"].get(f"{reef.base}/hard/download").content == DATA
    assert reef["member"].get(f"{reef.base}/hard/download", params={"version": 2}).status_code == 409
    assert reef["member"].get(f"{reef.base}/hard/preview", params={"version": 2}).status_code == 409


def test_bytes_other_than_announced_are_an_error_and_are_sent_again(reef: Reef) -> None:
    begun = reef.begin().json()
    reef.send(begun, DATA.replace(b"7", b"8"))
    reef.end(begun)
    reef.check()
    found = reef.get("hard")
    assert found["status"] == "error"
    assert "has another SHA-256" in found["current"]["faults"][0]["message"]
    assert reef["member"].get(f"{reef.base}/hard/download").status_code == 409
    again = reef.begin().json()
    assert (again["version"], again["status"], again["present"]) == (1, "uploading", [])
    assert reef.upload()["status"] == "uploaded"


@pytest.mark.parametrize(
    ("data", "query", "status", "words"),
    [
        (DATA[: PART - 1], {}, 422, "has 63 bytes, not 64"),
        (DATA[: PART + 1], {}, 413, "more were sent"),
        (DATA[:PART], {"digest": "0" * 64}, 422, "another SHA-256"),
        (DATA[:PART], {"digest": "0"}, 422, "digest"),
    ],
)
def test_a_part_that_is_not_whole_is_refused(
    reef: Reef, data: bytes, query: dict[str, str], status: int, words: str
) -> None:
    begun = reef.begin().json()
    answer = reef.put(begun, 1, data, **query)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert reef.begin().json()["present"] == []


def test_an_endless_part_is_refused_at_its_length(reef: Reef) -> None:
    begun = reef.begin().json()
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 10_000:
            sent += 1
            yield b"x" * 32

    path = f"{reef.base}/{begun['id']}/versions/1/parts/1"
    answer = reef["member"].request("PUT", path, content=endless(), params={"digest": "0" * 64})
    assert answer.status_code == 413
    assert sent < 100


def test_the_body_of_a_part_is_not_read_for_callers_who_may_not_send_it(reef: Reef) -> None:
    begun = reef.begin().json()
    read = False

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b"x"

    path = f"{reef.base}/{begun['id']}/versions/1/parts/1"
    for who in (reef["viewer"], reef["stranger"], reef.hosted.anonymous, reef.hosted.guest()):
        answer = who.request("PUT", path, content=body(), params={"digest": "0" * 64})
        assert answer.status_code in {401, 403, 404}
    assert not read


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"size": 0}, 422),
        ({"size": -1}, 422),
        ({"size": 5 * 2**30 + 1}, 413),
        ({"size": 2**60}, 422),
        ({"file_name": "hard.txt"}, 422),
        ({"file_name": "hard.jsonl.gz"}, 422),
        ({"file_name": "../hard.jsonl"}, 422),
        ({"file_name": "a\x00.jsonl"}, 422),
        ({"name": "a/b"}, 422),
        ({"name": ".."}, 422),
        ({"name": ""}, 422),
        ({"name": "x" * 101}, 422),
        ({"digest": "abc"}, 422),
        ({"columns": {"nonsense": "x"}}, 422),
    ],
)
def test_a_file_that_cannot_be_a_dataset_is_refused_before_it_is_sent(
    reef: Reef, given: dict[str, Any], status: int
) -> None:
    answer = reef.begin(**given)
    assert answer.status_code == status, answer.text
    assert reef["member"].get(reef.base).json()["items"] == []


@pytest.mark.parametrize("name", ["50 % off", "ü 日本", "a?b#c", "uploads", "..a", "%2F"])
def test_names_are_one_segment_of_a_path(reef: Reef, name: str) -> None:
    from urllib.parse import quote

    found = reef.upload(name=name)
    assert found["name"] == name
    assert reef.get(quote(name, safe=""))["id"] == found["id"]


def test_sizes_are_bounded_by_settings(open_hosted: OpenHosted) -> None:
    reef = Reef(open_hosted(dataset_mb=1, workspace_datasets_mb=1))
    assert reef.begin(size=2**20 + 1).status_code == 413
    assert reef.begin(size=2**20).status_code == 201
    answer = reef.begin(b"other", name="other")
    assert answer.status_code == 413
    assert "they have 1,048,576" in answer.json()["detail"]


def test_somebody_elsewhere_never_learns_that_a_dataset_exists(reef: Reef) -> None:
    found = reef.upload()
    begun = {"id": found["id"], "version": 1}
    stranger = reef["stranger"]
    other = reef.hosted.service.store.workspaces.add("Dunes", stranger.user_id)
    assert other is not None

    def asks(base: str, name: str) -> Iterator[httpx.Response]:
        for path in ("", "/preview", "/download"):
            yield stranger.get(f"{base}/{name}{path}")
        yield stranger.request("PATCH", f"{base}/{name}", json={"name": "x"})
        yield stranger.request("DELETE", f"{base}/{name}")
        for action in ("complete", "abort"):
            yield stranger.post(f"{base}/{name}/versions/1/{action}")
        query = {"digest": hashlib.sha256(b"").hexdigest()}
        yield stranger.request("PUT", f"{base}/{name}/versions/1/parts/1", content=b"", params=query)

    def told(answers: Iterator[httpx.Response], name: str) -> list[tuple[int, str]]:
        return [(one.status_code, one.json()["detail"].replace(name, "NAME")) for one in answers]

    none = "019a0000-0000-7000-8000-000000000000"
    for base in (reef.base, f"/api/workspaces/{other.id}/datasets"):
        for name, missing in (("hard", "nope"), (found["id"], none)):
            assert told(asks(base, name), name) == told(asks(base, missing), missing)
            assert {status for status, _ in told(asks(base, name), name)} == {404}
    assert reef.begin(who="stranger").status_code == 404
    assert stranger.get(reef.base).status_code == 404
    assert reef.end(begun, who="stranger").status_code == 404
    # The same content and name in a workspace of their own say nothing either.
    body = {"file_name": "hard.jsonl", "size": len(DATA), "digest": hashlib.sha256(DATA).hexdigest()}
    fresh = stranger.post(f"/api/workspaces/{other.id}/datasets", body)
    assert (fresh.status_code, fresh.json()["present"]) == (201, [])


def test_roles_decide_who_reads_uploads_renames_and_deletes(reef: Reef) -> None:
    reef.upload()
    for who in ("viewer", "member", "admin", "owner", "root"):
        assert reef[who].get(f"{reef.base}/hard").status_code == 200
    assert reef.begin(b"x", "viewer", name="other").status_code == 403
    for who in ("member", "admin", "owner", "root"):
        reef.upload(name=f"of {who}", who=who)
    rename = {"name": "x"}
    for who, status in (("viewer", 403), ("member", 403), ("admin", 200), ("owner", 409), ("root", 409)):
        answer = reef[who].request("PATCH", f"{reef.base}/{'of owner' if who != 'owner' else 'hard'}", json=rename)
        assert answer.status_code == (404 if who == "root" else status), (who, answer.text)
    assert reef["member"].request("DELETE", f"{reef.base}/of%20admin").status_code == 403
    assert reef["member"].request("DELETE", f"{reef.base}/of%20member").status_code == 204
    assert reef["root"].request("DELETE", f"{reef.base}/of%20admin").status_code == 204
    assert reef["member"].get(f"{reef.base}/of%20member").status_code == 404


def test_datasets_are_listed_in_pages(reef: Reef) -> None:
    for name in "abc":
        reef.begin(name=name)
    first = reef["viewer"].get(reef.base, params={"limit": 2}).json()
    rest = reef["viewer"].get(reef.base, params={"cursor": first["next_cursor"]}).json()
    assert [one["name"] for one in (*first["items"], *rest["items"])] == ["c", "b", "a"]
    assert rest["next_cursor"] is None
    assert {one["status"] for one in first["items"]} == {"uploading"}


def test_an_aborted_upload_leaves_nothing(reef: Reef) -> None:
    begun = reef.begin().json()
    reef.put(begun, 1, DATA[:PART])
    assert reef.end(begun, "abort").status_code == 204
    assert reef["member"].get(f"{reef.base}/hard").status_code == 404
    assert reef.put(begun, 1, DATA[:PART]).status_code == 404
    assert reef.begin().json()["present"] == []


def test_what_happens_to_datasets_is_in_the_audit_log(reef: Reef) -> None:
    found = reef.upload()
    reef["member"].request("PATCH", f"{reef.base}/hard", json={"name": "harder"})
    reef["admin"].request("DELETE", f"{reef.base}/{found['id']}")
    entries = reef["root"].get("/api/admin/audit").json()["entries"]
    assert [entry["action"] for entry in entries if entry["action"].startswith("dataset.")] == [
        "dataset.delete",
        "dataset.rename",
        "dataset.upload",
    ]


def test_a_worker_checks_what_waits(reef: Reef) -> None:
    begun = reef.begin().json()
    reef.send(begun)
    reef.end(begun)
    asyncio.run(work(reef.hosted.service, once=True))
    assert reef.get("hard")["status"] == "uploaded"


def test_a_worker_that_is_killed_in_a_check_leaves_it_to_the_next_one(
    reef: Reef, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = reef.begin().json()
    reef.send(begun)
    reef.end(begun)
    store = reef.hosted.service.store.datasets
    dead = store.claim_check("dead", -1.0)
    assert dead is not None

    class Killed(BaseException):
        pass

    async def killed(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(dataset_checks, "_checked", killed)
        with pytest.raises(Killed):
            asyncio.run(check_dataset_version(reef.hosted.service, dead))
    found = reef.get("hard")
    assert (found["status"], found["version"], found["current"]["rows"]) == ("processing", None, None)
    assert reef["member"].get(f"{reef.base}/hard/download").status_code == 409
    reef.check()
    # The first one wakes up late.
    assert not asyncio.run(check_dataset_version(reef.hosted.service, dead))
    found = reef.get("hard")
    assert (found["status"], found["version"], found["rows"]) == ("uploaded", 1, 20)


def test_a_check_that_takes_too_long_ends_with_what_to_do(reef: Reef, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_files, "CHECK_S", 0.0)
    found = reef.upload()
    assert found["status"] == "error"
    assert found["current"]["faults"][0]["fix"] == "split it into smaller files"


def test_a_worker_cleans_up_abandoned_uploads(reef: Reef, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = reef.upload(name="kept")
    begun = reef.begin(DATA + b" ").json()
    reef.put(begun, 1, DATA[:PART])
    reef.put(begun, 2, b"y" * PART)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 90_000)
    assert clean(reef.hosted.service).uploads == 1
    assert reef["member"].get(f"{reef.base}/{begun['id']}").status_code == 404
    assert reef["member"].get(f"{reef.base}/kept/download").content == DATA
    assert kept["current"]["status"] == DatasetState.UPLOADED


def test_parquet_and_csv_are_datasets_too(reef: Reef, tmp_path: Any) -> None:
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist(ROWS), tmp_path / "a.parquet")
    csv = "user_prompt,ground_truth\r\n" + "".join(f"{row['user_prompt']},{row['ground_truth']}\r\n" for row in ROWS)
    digests = {
        reef.upload(data, file_name=name)["current"]["rows_digest"]
        for name, data in (
            ("a.parquet", (tmp_path / "a.parquet").read_bytes()),
            ("b.csv", ("\ufeff" + csv).encode()),
            ("c.jsonl", DATA),
        )
    }
    assert len(digests) == 1
