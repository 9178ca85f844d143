"""Datasets by id, from a hub on loopback that speaks as the real one does; and which of their files are meant."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.datasets.hub import HubListing
from mesocosm.datasets.layout import chosen_files
from mesocosm.datasets.opening import is_hub_id

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "README.md": b"",
    "main/test-00000-of-00002.jsonl": b'{"q": 1}\n',
    "main/test-00001-of-00002.jsonl": b'{"q": 2}\n',
    "main/train.jsonl": b'{"q": 3}\n',
}


class Hugging(BaseHTTPRequestHandler):
    """The part of the hub's protocol that listing a dataset and reading its files takes."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path, _, _ = self.path.partition("?")
        if path in ("/api/datasets/org/set", *(f"/api/datasets/org/set/revision/{name}" for name in ("main", COMMIT))):
            listed = {"id": "org/set", "sha": COMMIT, "siblings": [{"rfilename": name} for name in FILES]}
            return self.say(json.dumps(listed).encode(), body)
        if path in ("/api/datasets/org/card", f"/api/datasets/org/card/revision/{COMMIT}"):
            configs = [{"config_name": "default", "data_files": [{"split": "dev", "path": "main/tr*.jsonl"}]}]
            card: dict[str, Any] = {"id": "org/card", "sha": COMMIT, "cardData": {"configs": configs, "license": "mit"}}
            card["siblings"] = [{"rfilename": name} for name in FILES]
            return self.say(json.dumps(card).encode(), body)
        path = path.replace("/org/card/", "/org/set/")
        file = path.removeprefix(f"/datasets/org/set/resolve/{COMMIT}/")
        if file in FILES:
            return self.say(FILES[file], body)
        wrong = "RevisionNotFound" if "/revision/" in path else "GatedRepo" if "gated" in path else "RepoNotFound"
        return self.say(b'{"error": "not found"}', body, status=403 if wrong == "GatedRepo" else 404, error=wrong)

    def say(self, data: bytes, body: bool, status: int = 200, error: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        if error:
            self.send_header("X-Error-Code", error)
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


OPEN = """
import json, sys
from mesocosm.core.failure import MesocosmError
from mesocosm.datasets import open_table
for place, where in json.loads(sys.argv[1]):
    try:
        table = open_table(place, **where)
        said = {"rows": list(table.rows), "digest": table.digest, "revision": table.revision, "notes": table.notes}
        said["where"] = table.where(len(table) - 1)
    except MesocosmError as error:
        said = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(said))
"""


def opened(endpoint: str, home: Path, *places: tuple[str, dict[str, str]], **env: str) -> list[dict[str, Any]]:
    """Open tables in a process of its own: the hub's address and cache are settled when its package is imported."""
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **env}
    environment.pop("HF_TOKEN", None)
    command = [sys.executable, "-c", OPEN, json.dumps(places)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60, cwd=home)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


NOWHERE = "http://127.0.0.1:1"


def test_a_split_of_a_dataset_is_one_table_at_a_commit_that_is_told(hub: str, tmp_path: Path) -> None:
    newest, named, prefixed = opened(
        hub,
        tmp_path,
        ("org/set", {"split": "test"}),
        ("hf:org/set", {"split": "test", "config": "main", "revision": COMMIT}),
        ("org/set", {"split": "train"}),
    )
    assert newest["rows"] == [{"q": 1}, {"q": 2}]
    assert newest["revision"] == COMMIT
    assert newest["notes"][0].startswith(f"org/set at commit {COMMIT}: main/test-00000-of-00002.jsonl, main/test-00001")
    assert newest["where"] == "main/test-00001-of-00002.jsonl, row 1"
    assert newest["digest"] == named["digest"] != prefixed["digest"]


def test_the_card_of_a_dataset_says_which_files_are_meant(hub: str, tmp_path: Path) -> None:
    (said,) = opened(hub, tmp_path, ("org/card", {}))
    assert said["rows"] == [{"q": 3}]


def test_what_was_fetched_is_read_again_without_the_hub(hub: str, tmp_path: Path) -> None:
    (first,) = opened(hub, tmp_path, ("org/set", {"split": "test", "revision": COMMIT}))
    again, prefix, other = opened(
        NOWHERE,
        tmp_path,
        ("org/set", {"split": "test", "revision": COMMIT}),
        ("org/set", {"split": "test", "revision": COMMIT[:8]}),
        ("org/set", {"split": "train", "revision": COMMIT}),
    )
    assert again["rows"] == prefix["rows"] == first["rows"]
    assert again["digest"] == prefix["digest"] == first["digest"]
    assert "the hub could not be asked; from the cache" in again["notes"][0]
    assert other["error"] == "Incompatible"
    assert "what was fetched before is not enough" in other["message"]


@pytest.mark.parametrize("offline", ["0", "1"])
def test_without_the_hub_and_without_a_cache_it_is_said_what_to_do(tmp_path: Path, offline: str) -> None:
    (said,) = opened(NOWHERE, tmp_path, ("org/set", {}), HF_HUB_OFFLINE=offline)
    assert said["error"] == "Incompatible"
    assert "org/set cannot run here: it cannot be looked up on the Hugging Face hub" in said["message"]
    assert said["message"].endswith("name a file or folder")


def test_what_the_hub_does_not_have_is_named(hub: str, tmp_path: Path) -> None:
    missing, revision, gated, split = opened(
        hub, tmp_path, ("org/none", {}), ("org/set", {"revision": "v9"}), ("org/gated", {}), ("org/set", {})
    )
    assert missing["error"] == "UnknownName"
    assert missing["message"] == (
        "org/none is not a dataset on the Hugging Face hub (for a private one set HF_TOKEN); "
        "there is no file or folder org/none here; name a file or folder"
    )
    assert revision["message"] == "org/set: the Hugging Face hub has no revision v9 of it"
    assert (gated["error"], "its owner asks for consent" in gated["message"]) == ("Incompatible", True)
    assert split["message"] == "org/set has several splits (test, train); name one, like split = 'test'"


def test_ids_are_told_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "set").mkdir(parents=True)
    assert is_hub_id("hf:gsm8k")
    assert is_hub_id("openai/gsm8k")
    assert not is_hub_id("data/set")
    assert not is_hub_id("data/rows.jsonl")
    assert not is_hub_id("gsm8k")
    assert not is_hub_id("a/b/c")
    assert not is_hub_id(Path("openai/gsm8k"))


def chosen(files: list[str], card: Mapping[str, Any] | None = None, config: str = "", split: str = "") -> list[str]:
    return list(chosen_files("org/set", HubListing(COMMIT, tuple(files), card or {}), config, split))


def test_the_only_file_is_meant() -> None:
    assert chosen(["README.md", ".gitattributes", ".x/a.csv", "rows.csv"]) == ["rows.csv"]


@pytest.mark.parametrize(
    ("files", "config", "split", "expected"),
    [
        (["data/train-00000-of-00001.parquet", "data/test-00000-of-00001-abc123.parquet"], "", "test", [1]),
        (["main/test.jsonl", "socratic/test.jsonl"], "socratic", "test", [1]),
        (["main/test/0000.parquet", "main/test/0001.parquet", "main/train/0000.parquet"], "main", "test", [0, 1]),
        (["gsm8k_test.jsonl", "gsm8k_train.jsonl"], "", "test", [0]),
        (["a/x.csv", "y.csv"], "", "", [1]),
        (["test.csv", "test.parquet", "test.jsonl"], "", "", [1]),
    ],
)
def test_files_are_chosen_by_their_names(files: list[str], config: str, split: str, expected: list[int]) -> None:
    assert chosen(files, config=config, split=split) == [files[place] for place in expected]


def test_the_card_goes_before_the_names() -> None:
    files = ["raw/one.csv", "raw/sub/two.csv", "other.csv", "deep/x/y/z.csv"]
    card = {
        "configs": [
            {"config_name": "a", "data_files": [{"split": "test", "path": "raw/*.csv"}]},
            {"config_name": "b", "default": True, "data_files": [{"split": "test", "path": ["raw/**/*.csv"]}]},
            {"config_name": "c", "data_files": "deep"},
            {"config_name": "gone", "data_files": "nothing/*.csv"},
            "noise",
        ]
    }
    assert chosen(files, card) == ["raw/one.csv", "raw/sub/two.csv"]
    assert chosen(files, card, config="a") == ["raw/one.csv"]
    assert chosen(files, card, config="c", split="train") == ["deep/x/y/z.csv"]
    with pytest.raises(UnknownName, match="org/set has no config 'gone'; it has a, b, c"):
        chosen(files, card, config="gone")


@pytest.mark.parametrize("configs", [None, "x", [], [{"config_name": 3}], [{"config_name": "a", "data_files": [3]}]])
def test_a_card_that_says_nothing_of_files_is_passed_over(configs: Any) -> None:
    assert chosen(["rows.csv"], {"configs": configs}) == ["rows.csv"]


def test_what_is_not_unique_must_be_named() -> None:
    with pytest.raises(UsageError, match=r"several configs \(a, b\); name one, like config = 'a'"):
        chosen(["a/test.csv", "b/test.csv"])
    with pytest.raises(UnknownName, match="has no split 'dev'; it has test, train"):
        chosen(["test.csv", "train.csv"], split="dev")


def test_a_dataset_without_data_files_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no file in a format that is read"):
        chosen(["README.md", "images.zip"])


def test_a_split_with_missing_shards_is_refused() -> None:
    with pytest.raises(UsageError, match=r"only 1 of the 3 files like test-00001-of-00003\.csv are there"):
        chosen(["test-00001-of-00003.csv"])
