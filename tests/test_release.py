"""A release is a commit and a tag, and is refused where it would be wrong."""

import importlib.util
import subprocess
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TODAY = date(2031, 2, 3)
CHANGES = "# Changes\n\n## 1.2.0 (unreleased)\n\n### Added\n\n- A thing.\n\n## 1.1.0 (2030-01-01)\n\n- Older.\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(place: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=place, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "mesocosm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package."""\n\n__version__ = "1.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "--quiet")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org"), ("commit.gpgsign", "false")):
        git(tmp_path, "config", key, value)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    return tmp_path


def test_a_release_is_written_dated_committed_and_tagged(script: ModuleType, checkout: Path) -> None:
    script.release(checkout, "1.2.0", TODAY)
    assert git(checkout, "status", "--porcelain") == ""
    assert (checkout / "src/mesocosm/__init__.py").read_text() == '"""A package."""\n\n__version__ = "1.2.0"\n'
    changes = (checkout / "CHANGELOG.md").read_text()
    assert changes == CHANGES.replace("1.2.0 (unreleased)", "1.2.0 (2031-02-03)")
    assert git(checkout, "log", "-1", "--format=%s", "v1.2.0") == "Release 1.2.0"
    assert git(checkout, "rev-parse", "v1.2.0^{commit}") == git(checkout, "rev-parse", "HEAD")
    assert (
        git(checkout, "tag", "--list", "--format=%(contents)", "v1.2.0") == "mesocosm 1.2.0\n\n### Added\n\n- A thing."
    )


@pytest.mark.parametrize(
    ("version", "changes", "reason"),
    [
        ("1.2", CHANGES, "is no version"),
        ("1.3.0", CHANGES, "is not called"),
        ("1.2.0", CHANGES.replace("unreleased", "2030-09-09"), "is not called"),
        ("1.2.0", CHANGES.replace("### Added\n\n- A thing.\n", ""), "is empty"),
    ],
    ids=["no version", "another section", "dated section", "empty section"],
)
def test_what_cannot_be_released_is_left_as_it_is(
    script: ModuleType, checkout: Path, version: str, changes: str, reason: str
) -> None:
    (checkout / "CHANGELOG.md").write_text(changes)
    git(checkout, "commit", "--quiet", "--all", "--allow-empty", "--message", "Second")
    with pytest.raises(script.Refused, match=reason):
        script.release(checkout, version, TODAY)
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "tag", "--list") == ""


def test_files_that_are_not_committed_refuse_a_release(script: ModuleType, checkout: Path) -> None:
    (checkout / "new.py").touch()
    with pytest.raises(script.Refused, match="not committed"):
        script.release(checkout, "1.2.0", TODAY)


def test_a_version_is_released_once(script: ModuleType, checkout: Path) -> None:
    git(checkout, "tag", "v1.2.0")
    with pytest.raises(script.Refused, match="exists"):
        script.release(checkout, "1.2.0", TODAY)
