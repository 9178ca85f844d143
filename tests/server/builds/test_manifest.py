"""Manifests of repositories: every problem with its place, and the digest of what can change a run."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.server.builds.conftest import MANIFEST, adapter, manifest, vow

from mesocosm.environments.check import FILE
from mesocosm.environments.manifest import content_digest, load_manifest
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog, notes_of
from mesocosm.server.builds.manifest import CheckedManifest, check_manifest
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.settings import read_settings

Files = Mapping[str, str]
Check = Callable[..., CheckedManifest]


@pytest.fixture
def checked(directory: BuildDirectory, log: BuildLog) -> Check:
    """Return what checks a repository with these files."""

    def run(files: Files, folder: str = "", **given: Any) -> CheckedManifest:
        shutil.rmtree(directory.source, ignore_errors=True)
        for name, content in files.items():
            path = directory.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        directory.source.mkdir(exist_ok=True)
        return check_manifest(
            read_settings(**given), RepositorySource("/srv/words", folder=folder), directory.source, log
        )

    return run


def files(**changed: Any) -> dict[str, str]:
    return {"benchanything.json": manifest(**changed), "adapter.py": adapter()}


def fault(checked: Check, found: Files, folder: str = "") -> str:
    with pytest.raises(BuildError) as caught:
        checked(found, folder)
    assert "/version/" not in str(caught.value)
    return str(caught.value)


def test_a_good_manifest_is_kept_as_it_was(checked: Check, directory: BuildDirectory) -> None:
    found = checked(files())
    assert (found.path, json.loads(found.text)) == ("benchanything.json", MANIFEST)
    assert found.digest == content_digest(load_manifest(directory.source / "benchanything.json"))


def test_a_manifest_in_the_usual_places_is_found(checked: Check) -> None:
    found = checked({f"auxiliary/{name}": text for name, text in files().items()})
    assert found.path == "auxiliary/benchanything.json"


def test_a_manifest_in_a_folder_is_found(checked: Check) -> None:
    assert checked({f"games/a/{name}": text for name, text in files().items()}, "games/a").path.startswith("games/a/")


def test_a_missing_manifest_is_told_with_the_places_searched(checked: Check) -> None:
    words = fault(checked, {"README.md": "hello"})
    for place in ("benchanything.json", "auxiliary/benchanything.json", "files/benchanything.json", "mesocosm init"):
        assert place in words


def test_a_manifest_elsewhere_is_pointed_to(checked: Check) -> None:
    assert "there is one in games/a: submit with that `folder`" in fault(checked, {"games/a/benchanything.json": "{}"})


def test_a_missing_folder_is_told_with_those_that_there_are(checked: Check) -> None:
    assert "no folder 'gmaes'; at its root it has games" in fault(checked, {"games/x": ""}, "gmaes")


def test_bad_json_is_told_with_line_and_column(checked: Check) -> None:
    words = fault(checked, {"benchanything.json": '{\n  "name": "x",\n}'})
    # Python 3.13 points to the comma, 3.11 and 3.12 to what comes after it.
    assert "line 2, column 14" in words or "line 3, column 1" in words
    assert "remove the comma" in words


def test_a_list_is_no_manifest(checked: Check) -> None:
    assert "object" in fault(checked, {"benchanything.json": "[]"})


def test_every_problem_of_a_vow_is_told_with_its_path(checked: Check) -> None:
    bad = vow(version="one", reward={"type": "binary", "range": {"low": 2, "high": 1}}, episode={"max_steps": 0})
    words = fault(checked, files(binding_vow=bad, name=None))
    for path in ("name: ", "binding_vow.version: ", "binding_vow.reward", "binding_vow.episode.max_steps: "):
        assert path in words


def test_a_scoring_without_its_metric_is_told(checked: Check) -> None:
    other = {**MANIFEST["scoring"], "primary_metric": "x"}
    assert "scoring.primary_metric" in fault(checked, files(scoring=other))


@pytest.mark.parametrize(
    ("name", "words"), [("adaptor.py", "does not exist"), ("../adapter.py", "must not leave"), (7, "must be a string")]
)
def test_a_wrong_adapter_is_told(name: object, words: str, checked: Check) -> None:
    assert words in fault(checked, files(adapter=name))


def test_a_document_that_looks_like_a_domain_is_still_held_to_be_a_manifest(checked: Check) -> None:
    words = fault(checked, {"benchanything.json": manifest(adapter=None, endpoint={"mode": "remote"}, owner_id="1")})
    assert "adapter: is required" in words


@pytest.mark.parametrize(("steps", "words"), [(None, "is not set"), (500, "is 500, but this server ends")])
def test_steps_beyond_the_cap_are_noted(steps: int | None, words: str, checked: Check, log: BuildLog) -> None:
    checked(files(binding_vow=vow(episode={"max_steps": steps} if steps else {})), max_steps=100)
    assert any("binding_vow.episode.max_steps" in note and words in note for note in notes_of(log.text()))


def test_a_huge_manifest_is_refused(checked: Check) -> None:
    assert "larger than" in fault(checked, {"benchanything.json": " " * 1_000_001})


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"lib/words.py": "x = 2"}, True),
        ({"requirements.txt": "numpy"}, True),
        ({"auxiliary/benchanything.json": manifest(binding_vow=vow(version="1.0.1"))}, True),
        ({"README.md": "new words"}, False),
        ({"auxiliary/benchanything.json": manifest(name="Other title")}, False),
    ],
)
def test_the_digest_follows_what_can_change_a_run(changed: Files, differs: bool, checked: Check) -> None:
    before = {f"auxiliary/{name}": text for name, text in files().items()} | {"lib/words.py": "x = 1"}
    digests = {checked(before).digest, checked({**before, **changed}).digest}
    assert len(digests) == 1 + differs


def test_the_digest_does_not_depend_on_the_place(
    checked: Check, directory: BuildDirectory, tmp_path: Path, log: BuildLog
) -> None:
    found = checked(files())
    other = tmp_path / "elsewhere"
    shutil.copytree(directory.source, other)
    assert check_manifest(read_settings(), RepositorySource("/srv/words"), other, log).digest == found.digest


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "n" * 201}, "name: has 201 characters, more than 200"),
        ({"description": "d" * 100_001}, "description: has 100,001 characters, more than 100,000"),
        ({"name": "a\u202egnp.exe"}, "name: has the character U+202E"),
        ({"name": "\x1b[31mred"}, "name: has the character U+001B"),
        ({"name": "two\nlines"}, "name: has the character U+000A"),
        ({"description": "bell\x07"}, "description: has the character U+0007"),
        ({"tags": ["tier1", "t" * 101]}, "tags: has more than 50 tags, or one of more than 100 characters"),
        ({"tags": ["tier1"] * 51}, "tags: has more than 50 tags"),
    ],
)
def test_texts_that_every_list_shows_are_short_and_visible(checked: Check, changed: Any, words: str) -> None:
    assert words in fault(checked, files(**changed))


def test_a_description_may_have_lines(checked: Check) -> None:
    assert checked(files(description="one\n\ttwo\r\nthree 🦑"))


def test_the_verdict_that_an_author_committed_is_kept_with_its_problems(
    checked: Check, directory: BuildDirectory
) -> None:
    digest = content_digest(load_manifest(_written(checked, directory)))
    findings = [{"name": "close", "ok": False, "message": "it failed"}]
    verdict = json.dumps({"digest": digest, "words": "checked", "findings": findings})
    found = checked({**files(), FILE: verdict})
    assert (found.report.state, found.report.problems) == ("failed", ("close: it failed",))
    changed = {**files(), "adapter.py": adapter() + "# changed"}
    assert checked({**changed, FILE: verdict}).report.state == "outdated"
    assert checked(files()).report.state == "unchecked"


def _written(checked: Check, directory: BuildDirectory) -> Path:
    checked(files())
    return directory.source / "benchanything.json"
