"""`mesocosm dataset upload` of several files, and of datasets of a hub on loopback that its own client reads."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.datasets.test_hub_datasets import COMMIT, FILES, hub

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Platform

pytestmark = pytest.mark.usefixtures("forked_checks")

__all__ = ["hub"]

Uploaded = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def upload(reef: "Platform", alone: Path, hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uploaded:
    """Return what uploads in a process of its own: the hub's address is settled when its package is imported."""
    for name in [name for name in FILES if name.endswith(".jsonl")]:
        monkeypatch.setitem(FILES, name, re.sub(rb"(\d)", rb'"\1?"', FILES[name]))
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment.pop("HF_TOKEN", None)
    assert alone.is_file()

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mesocosm", "dataset", "upload", *words, "--columns", "user_prompt=q"]
        return subprocess.run(command, env=environment | env, capture_output=True, text=True, check=False, timeout=60)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "train.csv").write_text("user_prompt,ground_truth\n1 + 1?,2\n2 + 2?,4\n")
    (path / "test.jsonl").write_text('{"user_prompt": "3 + 3?", "ground_truth": 6}\n')
    return path


def rows(reef: "Platform", name: str, tmp_path: Path) -> list[Any]:
    """Return the rows of a dataset."""
    file = tmp_path / "back.jsonl"
    assert reef("dataset", "download", name, "--output", file, "--force").code == 0
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_several_files_are_splits_of_one_dataset(reef: "Platform", folder: Path, tmp_path: Path) -> None:
    files = (folder / "train.csv", folder / "test.jsonl")
    done = reef("dataset", "upload", *files, "--name", "sums")
    assert (done.code, done.out) == (0, "sums.jsonl is version 1 of the dataset sums: 3 rows\n"), done.err
    assert "splits: train 2, test 1" in reef("dataset", "info", "sums").out
    assert rows(reef, "sums", tmp_path) == [
        {"user_prompt": "1 + 1?", "ground_truth": "2", "split": "train"},
        {"user_prompt": "2 + 2?", "ground_truth": "4", "split": "train"},
        {"user_prompt": "3 + 3?", "ground_truth": 6, "split": "test"},
    ]
    again = reef("dataset", "upload", *files, "--name", "sums")
    assert again.out == "sums.jsonl is version 1 of the dataset sums: 3 rows\n"


def test_splits_are_named(reef: "Platform", folder: Path, tmp_path: Path) -> None:
    done = reef("dataset", "upload", folder / "test.jsonl", "--split", "dev", "--columns", "split=fold")
    assert done.out == "test.jsonl is version 1 of the dataset test: 1 row\n", done.err
    assert rows(reef, "test", tmp_path) == [{"user_prompt": "3 + 3?", "ground_truth": 6, "fold": "dev"}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train.csv", "test.jsonl"), "name it with --name"),
        (("train.csv", "train.csv", "--name", "a"), "two of the splits train, train have one name"),
        (("train.csv", "--split", "a", "--split", "b"), "1 places and 2 splits"),
        (("train.csv", "gone.csv", "--name", "a"), "gone.csv: no such file"),
        (("train.csv", "--split", "a", "--columns", "split="), "no column holds the splits"),
        (("train.csv", "split.jsonl", "--name", "a"), "split.jsonl has a column split already"),
        (("train.csv", "broken.jsonl", "--name", "a"), "broken.jsonl"),
    ],
)
def test_files_that_do_not_make_one_dataset_are_refused(
    reef: "Platform", folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "split.jsonl").write_text('{"user_prompt": "?", "split": "x"}\n')
    (folder / "broken.jsonl").write_text('{"user_prompt": \n')
    done = reef("dataset", "upload", *words)
    assert done.code in (1, 2)
    assert said in done.err
    assert reef("dataset", "list", "--json").document == []


@pytest.mark.parametrize(
    ("word", "asked", "config", "split"),
    [
        (f"hf:org/set@{COMMIT}:main:test", ["1?", "2?"], "main", "test"),
        ("hf:org/set:test", ["1?", "2?"], "", "test"),
        ("hf:org/card", ["3?"], "", ""),
        ("hf:org/card:default", ["3?"], "default", ""),
    ],
)
def test_a_dataset_of_the_hub_is_uploaded_with_its_id_and_commit(
    reef: "Platform", upload: Uploaded, tmp_path: Path, word: str, asked: list[str], config: str, split: str
) -> None:
    done = upload(word)
    assert done.returncode == 0, done.stderr
    assert f"at commit {COMMIT}" in done.stderr
    name = "card" if "card" in word else "set"
    assert done.stdout.startswith(f"{name}.jsonl is version 1 of the dataset {name}")
    assert [row["q"] for row in rows(reef, name, tmp_path)] == asked
    source = reef("dataset", "info", name, "--json").document["current"]["source"]
    found = {key: source[key] for key in ("kind", "repository", "revision", "config", "split")}
    assert found == {
        "kind": "hub",
        "repository": f"org/{name}",
        "revision": COMMIT,
        "config": config,
        "split": split,
    }
    parts = "/".join(filter(None, (f"org/{name}", config, split)))
    assert f"from {parts} at commit {COMMIT}" in reef("dataset", "info", name).out
    assert upload(word).stdout == done.stdout


def test_splits_of_the_hub_are_splits_of_one_dataset(reef: "Platform", upload: Uploaded, tmp_path: Path) -> None:
    done = upload("hf:org/set:train", "hf:org/set:test", "--name", "both")
    assert done.returncode == 0, done.stderr
    assert [(row["q"], row["split"]) for row in rows(reef, "both", tmp_path)] == [
        ("3?", "train"),
        ("1?", "test"),
        ("2?", "test"),
    ]
    source = reef("dataset", "info", "both", "--json").document["current"]["source"]
    assert (source["repository"], source["split"]) == ("org/set", "train, test")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("hf:org/set", "several splits (test, train)"),
        ("hf:org/set:tset", "has no split 'tset'; it has test, train"),
        ("hf:org/set:main:dev", "has no split 'dev'"),
        ("hf:org/gone", "is not a dataset on the Hugging Face hub"),
        ("hf:org/set@gone:test", "no revision gone"),
        ("hf:org/set:a:b:c", "write hf:ORG/NAME"),
    ],
)
def test_what_the_hub_does_not_have_is_told(reef: "Platform", upload: Uploaded, word: str, said: str) -> None:
    done = upload(word)
    assert done.returncode == 2
    assert said in done.stderr
    assert reef("dataset", "list", "--json").document == []


def test_without_the_hub_nothing_is_uploaded(reef: "Platform", upload: Uploaded) -> None:
    done = upload("hf:org/set:test", HF_ENDPOINT="http://127.0.0.1:1")
    assert done.returncode != 0
    assert "cannot be looked up on the Hugging Face hub" in done.stderr
    assert reef("dataset", "list", "--json").document == []
