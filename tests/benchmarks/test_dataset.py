"""Rows of datasets from files, and from a hub on loopback that speaks as the real one does."""

import csv
import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from mesocosm.benchmarks.dataset import read_rows
from mesocosm.core.failure import Incompatible, InvalidInput, UsageError

ROWS = [{"question": "1 + 1 = ?", "answer": "2"}, {"question": 'a, "b"\né', "answer": "c"}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def rows(place: Path, *names: str) -> list[dict[str, Any]]:
    return list(read_rows("bench", place, None, names).rows)


def as_csv(path: Path, encoding: str) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        table = csv.DictWriter(file, ["question", "answer"])
        table.writeheader()
        table.writerows(ROWS)


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES + "\n\n")
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES.encode())
    (tmp_path / "c.json").write_text(json.dumps(ROWS, indent=2))
    (tmp_path / "d.json").write_text(LINES)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    as_csv(tmp_path / "f.csv", "utf-8")
    as_csv(tmp_path / "g.csv", "utf-8-sig")
    (tmp_path / "h.csv.gz").write_bytes(gzip.compress((tmp_path / "f.csv").read_bytes()))
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "i.parquet")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 9
    for file in files:
        assert rows(file) == ROWS, file
    assert rows(tmp_path) == ROWS * 9


def test_of_a_folder_the_named_files_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1}')
    (tmp_path / "b.jsonl").write_text('{"n": 2}')
    (tmp_path / "notes.txt").write_text("nothing")
    assert rows(tmp_path, "b.jsonl", "a.jsonl", "c.jsonl") == [{"n": 2}, {"n": 1}]
    assert rows(tmp_path, "c.jsonl") == [{"n": 1}, {"n": 2}]


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no data; expected test\.jsonl"):
        rows(tmp_path, "test.jsonl")


def test_the_digest_is_that_of_the_content_and_not_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    (tmp_path / "c.jsonl").write_text(LINES + '{"n": 1}\n')
    first, same, other = (read_rows("bench", tmp_path / name, None) for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl"))
    assert first.content == same.content != other.content


def test_columns_name_the_fields_of_tables_without_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"x, y"\n2,z\n')
    assert read_rows("bench", tmp_path, None, columns=("n", "t")).rows == [
        {"n": "1", "t": "x, y"},
        {"n": "2", "t": "z"},
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jsonl", b'{"n": 1}\n{"n": \n', "line 2: is not JSON"),
        ("a.jsonl", b'{"n": 1}\n[1]\n', r"row 2: is \[1\], no object"),
        ("a.jsonl", b'{"n": "\xff"}\n', "line 1: is not JSON"),
        ("a.json", b'[{"n": 1}, 2]', "row 2: is 2, no object"),
        ("a.json", b'[{"n": 1}', "is not JSON"),
        ("a.csv", b"n,t\n1,2\n3\n", "row 2: has 1 columns, not the 2 of the header"),
        ("a.csv", b"n,t\n1,2,3\n", "row 1: has 3 columns, not the 2 of the header"),
        ("a.csv", b'n,t\n1,"2\n', "row 1: is not CSV"),
        ("a.csv", b"n,t\n\xff,2\n", "is not UTF-8 text"),
        ("a.parquet", b"PAR1 and more", "is not a parquet file"),
    ],
)
def test_a_broken_row_is_named_with_its_file(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=problem) as caught:
        rows(tmp_path)
    assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"no gzip", gzip.compress(LINES.encode(), mtime=0)[:-12], b"\x1f\x8b\x08\x00" + b"x" * 40]
)
def test_a_broken_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(content)
    with pytest.raises(UsageError, match=r"a\.jsonl\.gz cannot be read"):
        rows(tmp_path)


def test_a_field_that_is_no_text_is_named_with_file_and_row(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "b.jsonl").write_text('{"question": 3}')
    found = read_rows("bench", tmp_path, None)
    assert found.text(1, "answer") == "c"
    with pytest.raises(InvalidInput, match=r"b\.jsonl") as caught:
        found.text(2, "question")
    assert "row 1: question is 3, no text" in str(caught.value)


def test_data_that_is_nowhere_makes_a_benchmark_incompatible() -> None:
    with pytest.raises(Incompatible, match="name a file with the parameter data_path"):
        read_rows("bench", None, None)


# The hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SIBLING = "0123456789ab0000000000000000000000000000"


class Hugging(BaseHTTPRequestHandler):
    """The part of the hub's protocol that reading one file of a dataset takes."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path, _, _ = self.path.partition("?")
        if path.startswith("/api/datasets/org/set/commits/"):
            named = [
                {"id": commit, "title": "t", "message": "", "date": "2024-01-01T00:00:00.000Z", "authors": []}
                for commit in (COMMIT, SIBLING)
            ]
            return self.say(json.dumps(named).encode(), body)
        if path == f"/api/datasets/org/set/revision/{COMMIT}":
            return self.say(json.dumps({"id": "org/set", "sha": COMMIT}).encode(), body)
        if path == f"/datasets/org/set/resolve/{COMMIT}/main/test.jsonl":
            return self.say(LINES.encode(), body)
        return self.say(b'{"error": "not found"}', body, status=404)

    def say(self, data: bytes, body: bool, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[str]:
    """Return the address of a hub."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hugging) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


READ = """
import json, sys
from mesocosm.benchmarks.dataset import HubDataset, read_rows
from mesocosm.core.failure import Incompatible
try:
    print(json.dumps(list(read_rows("bench", None, HubDataset("org/set", sys.argv[1], (sys.argv[2],))).rows)))
except Incompatible as error:
    print(error)
"""


def read_from(endpoint: str, home: Path, revision: str = COMMIT, file: str = "main/test.jsonl", **env: str) -> str:
    """Read in a process of its own: the hub's address and cache are settled when its package is imported."""
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **env}
    environment.pop("HF_TOKEN", None)
    done = subprocess.run(
        [sys.executable, "-c", READ, revision, file],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Retrying" not in done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("revision", [COMMIT, COMMIT[:13]])
def test_files_come_from_the_hub_at_the_commit_and_are_kept(hub: str, tmp_path: Path, revision: str) -> None:
    assert json.loads(read_from(hub, tmp_path, revision)) == ROWS
    # The second time nobody is asked.
    assert json.loads(read_from("http://127.0.0.1:1", tmp_path, revision)) == ROWS


def test_first_digits_that_several_commits_share_are_refused(hub: str, tmp_path: Path) -> None:
    assert "2 commits of it begin with 0123456789ab" in read_from(hub, tmp_path, COMMIT[:12])


@pytest.mark.parametrize(("revision", "file"), [("f" * 40, "main/test.jsonl"), (COMMIT, "main/train.jsonl")])
def test_what_the_hub_does_not_have_makes_a_benchmark_incompatible(
    hub: str, tmp_path: Path, revision: str, file: str
) -> None:
    said = read_from(hub, tmp_path, revision, file)
    assert said.startswith("bench cannot run here: its data (dataset org/set at ")
    assert said.endswith("name a file with the parameter data_path")


@pytest.mark.parametrize(("revision", "offline"), [(COMMIT, "0"), (COMMIT[:8], "0"), (COMMIT[:8], "1")])
def test_without_the_hub_a_benchmark_is_incompatible_at_once(tmp_path: Path, revision: str, offline: str) -> None:
    said = read_from("http://127.0.0.1:1", tmp_path, revision, HF_HUB_OFFLINE=offline)
    assert said.startswith("bench cannot run here: its data (dataset org/set at 01234567) cannot be fetched")
    assert said.endswith("name a file with the parameter data_path")


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_data_without_a_row_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match=r"a\.json: no rows; name data that has some"):
        rows(tmp_path)
