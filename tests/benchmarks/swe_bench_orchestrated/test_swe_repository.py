"""Checkouts: what they hold, what their diff says, and that nothing in them runs here."""

from pathlib import Path

import msgspec
import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import Repositories, applies, git
from mesocosm.core.failure import EpisodeError

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a.example"}
WHO |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a.example"}


async def test_a_checkout_holds_the_files_and_no_history(repositories: Repositories, instance: Instance) -> None:
    checkout = await repositories.checkout(instance)
    assert sorted(path.name for path in checkout.folder.iterdir()) == ["code_of.py", "docs", "test_double.py"]
    assert await checkout.diff() == ""


async def test_the_diff_tells_every_change_and_applies_to_another_checkout(
    repositories: Repositories, instance: Instance
) -> None:
    checkout = await repositories.checkout(instance)
    (checkout.folder / "code_of.py").write_text("x = 1\n")
    (checkout.folder / "new.bin").write_bytes(bytes(range(256)))
    (checkout.folder / "docs/readme.md").unlink()
    (checkout.folder / "__pycache__").mkdir()
    (checkout.folder / "__pycache__/code_of.pyc").write_bytes(b"x")
    patch = await checkout.diff()
    assert "__pycache__" not in patch
    other = await repositories.checkout(instance)
    assert await applies(patch, other.folder) == ""
    assert (other.folder / "code_of.py").read_text() == "x = 1\n"
    assert (other.folder / "new.bin").read_bytes() == bytes(range(256))
    assert not (other.folder / "docs/readme.md").exists()


async def test_a_made_repository_is_the_same_whenever_it_is_made(instance: Instance, tmp_path: Path) -> None:
    commits = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        commits.add((await Repositories(tmp_path / name).checkout(instance)).commit)
    assert len(commits) == 1


@pytest.mark.parametrize("name", ["own/double", "own__double", "double.git"])
async def test_a_local_copy_is_used_and_not_written_to(
    name: str, repositories: Repositories, instance: Instance, tmp_path: Path
) -> None:
    copy = tmp_path / "copies" / name
    copy.mkdir(parents=True)
    for path, text in instance.files.items():
        (copy / path).parent.mkdir(exist_ok=True)
        (copy / path).write_text(text)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        assert (await git(words, copy, WHO)).code == 0
    commit = (await git(["rev-parse", "HEAD"], copy)).output.decode().strip()
    before = sorted(path for path in copy.rglob("*") if path.is_file())
    plain = msgspec.structs.replace(instance, files={}, commit=commit)
    checkout = await Repositories(repositories.root, tmp_path / "copies").checkout(plain)
    (checkout.folder / "code_of.py").write_text("x = 1\n")
    assert "+x = 1" in await checkout.diff()
    assert sorted(path for path in copy.rglob("*") if path.is_file()) == before


async def test_what_is_not_there_is_told(repositories: Repositories, instance: Instance, tmp_path: Path) -> None:
    plain = msgspec.structs.replace(instance, files={}, commit="0" * 40)
    local = Repositories(repositories.root, tmp_path)
    with pytest.raises(EpisodeError, match="holds no repository own/double"):
        await local.checkout(plain)
    (tmp_path / "double").mkdir()
    assert (await git(["init", "-q"], tmp_path / "double")).code == 0
    with pytest.raises(EpisodeError, match="there is no commit 0000"):
        await local.checkout(plain)


async def test_a_repository_inside_a_checkout_runs_nothing_here(
    repositories: Repositories, instance: Instance, tmp_path: Path
) -> None:
    checkout = await repositories.checkout(instance)
    mark = tmp_path / "mark"
    for place in (checkout.folder, checkout.folder / "docs"):
        assert (await git(["init", "-q"], place)).code == 0
        with (place / ".git/config").open("a") as config:
            config.write(f'[core]\nfsmonitor = "touch {mark}"\n[filter "x"]\nclean = "touch {mark}"\n')
            config.write(f'smudge = "touch {mark}"\n[diff]\nexternal = "touch {mark}"\n')
    (checkout.folder / ".gitattributes").write_text("* filter=x diff=x\n")
    (checkout.folder / "code_of.py").write_text("x = 1\n")
    assert (
        await applies("--- a/docs/readme.md\n+++ b/docs/readme.md\n@@ -1 +1 @@\n-Doubles.\n+D.\n", checkout.folder)
        == ""
    )
    patch = await checkout.diff()
    assert "+x = 1" in patch
    assert "fsmonitor" not in patch
    assert not mark.exists()


async def test_a_file_behind_a_link_is_not_removed_when_tests_are_brought_back(
    repositories: Repositories, instance: Instance, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "readme.md").write_text("keep me")
    checkout = await repositories.checkout(instance)
    (checkout.folder / "docs/readme.md").unlink()
    (checkout.folder / "docs").rmdir()
    (checkout.folder / "docs").symlink_to(outside)
    await checkout.restore(["docs/readme.md", "unknown.py"])
    assert (outside / "readme.md").read_text() == "keep me"
    assert (checkout.folder / "docs/readme.md").read_text() == "Doubles.\n"
    assert not (checkout.folder / "docs").is_symlink()


@pytest.mark.parametrize(
    "patch",
    [
        "nonsense",
        "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ b/../escape.py\n@@ -0,0 +1 @@\n+x\n",
        "--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,2 @@\n def other(number):\n-    return 1\n+    return 2\n",
    ],
)
async def test_a_patch_that_does_not_fit_is_refused(patch: str, repositories: Repositories, instance: Instance) -> None:
    checkout = await repositories.checkout(instance)
    assert await applies(patch, checkout.folder) != ""
    assert await checkout.diff() == ""
