"""What commands write into an environment's folder is no part of the environment."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.environments.manifest import content_digest, load_manifest
from mesocosm.models.cache import ResponseFile

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, scaffolded: Path, mesocosm: "Invoke") -> Path:
    """Return an environment with a finished run; its results lie in the folder as well."""
    place = shutil.copytree(scaffolded, tmp_path_factory.mktemp("outputs") / "my-env")
    manifest = ("--manifest", place / "benchanything.json")
    before = digest(place)
    found = mesocosm(
        *("run", "local", *manifest, "--model", "builtin/random", "--episodes", "2", "--quiet", "--results-dir", place),
        *("--fail-if", "missing>2%", "--junit", place / "gate.xml", "--markdown", place / "gate.md"),
    )
    assert found.code == 0, found.err
    assert digest(place) == before
    return place


def digest(place: Path) -> str:
    return content_digest(load_manifest(place))


@pytest.mark.parametrize("name", ["oracle.json", "run.zip", "samples.csv", "samples.jsonl", "samples.parquet"])
def test_an_export_into_the_folder_changes_no_digest(played: Path, mesocosm: "Invoke", name: str) -> None:
    before = digest(played)
    command = ("run", "export") if name == "oracle.json" else ("export",)

    assert mesocosm(*command, "last", "-o", played / name, "--results-dir", played).code == 0

    assert digest(played) == before


@pytest.mark.parametrize("command", [("run", "list"), ("run", "show", "last"), ("run", "export", "last")])
def test_json_that_a_command_printed_into_the_folder_changes_no_digest(
    played: Path, mesocosm: "Invoke", command: tuple[str, ...]
) -> None:
    before = digest(played)
    (played / "printed.json").write_text(mesocosm(*command, "--json", "--results-dir", played).out)
    assert digest(played) == before


def test_a_response_cache_in_the_folder_changes_no_digest(played: Path) -> None:
    before = digest(played)
    cache = ResponseFile(played / "answers.sqlite")
    try:
        assert digest(played) == before
    finally:
        cache.close()
    assert digest(played) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("level.xml", b"<?xml version='1.0'?>\n<level/>"),
        ("words.csv", b"episode,row\n1,2\n"),
        ("a.db", b"SQLite format 3\0"),
    ],
)
def test_data_of_the_same_formats_counts(played: Path, name: str, content: bytes) -> None:
    before = digest(played)
    try:
        (played / name).write_bytes(content)
        assert digest(played) != before
    finally:
        (played / name).unlink()


def test_a_run_that_cannot_go_on_names_the_files_that_changed(
    scaffolded: Path, tmp_path: Path, mesocosm: "Invoke"
) -> None:
    place = shutil.copytree(scaffolded, tmp_path / "my-env")
    (place / "old.txt").write_text("1")
    run = ("run", "local", "--manifest", place / "benchanything.json", "--model", "builtin/random", "--quiet")
    found = mesocosm(*run, "--episodes", "3", "--run-seconds", "0.000001", "--json", "--results-dir", tmp_path)
    run_id = json.loads(found.out)["run"]["id"]
    (place / "old.txt").unlink()
    (place / "new.txt").write_text("1")
    (place / "env.py").write_text((place / "env.py").read_text() + "\n")

    refused = mesocosm("run", "resume", run_id, "--results-dir", tmp_path)

    assert refused.code == 2
    assert "changed: env.py; added: new.txt; removed: old.txt" in refused.err
