"""Tools on a checkout: what they do, and that they do not leave it."""

from pathlib import Path

import pytest

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.workspace import CheckoutWorkspace, work_tools
from mesocosm.benchmarks.orchestrated.tool import call
from mesocosm.core.turn import CalledTool
from mesocosm.sandboxes.bubblewrap import available


@pytest.fixture
def space(tmp_path: Path) -> CheckoutWorkspace:
    folder = tmp_path / "workspace"
    (folder / "docs").mkdir(parents=True)
    (folder / "code.py").write_text("a = 1\nb = a\n")
    (folder / "docs/readme.md").write_text("read me\n")
    (tmp_path / "secret.txt").write_text("the secret")
    return CheckoutWorkspace(folder)


async def done(space: CheckoutWorkspace, name: str, **arguments: str) -> str:
    tools = {own.tool.name: own for own in work_tools(space, shell=True)}
    return (await call(tools, CalledTool(name, arguments))).text


async def test_files_are_listed_read_and_searched(space: CheckoutWorkspace) -> None:
    assert await done(space, "list_files") == "code.py\ndocs/readme.md"
    assert await done(space, "list_files", path="docs") == "docs/readme.md"
    assert await done(space, "read_file", path="code.py", first_line="2") == "     2 b = a"
    assert await done(space, "search", text="a = ") == "code.py:1: a = 1"
    assert await done(space, "search", text="zebra") == "Nothing was found."


async def test_files_are_written_edited_and_patched(space: CheckoutWorkspace) -> None:
    await done(space, "write_file", path="new/file.py", content="x = 1\n")
    await done(space, "edit_file", path="code.py", old="b = a", new="b = 2")
    patch = "--- a/docs/readme.md\n+++ b/docs/readme.md\n@@ -1 +1 @@\n-read me\n+read it"
    assert await done(space, "apply_patch", patch=patch) == "The patch was applied."
    assert (space.folder / "new/file.py").read_text() == "x = 1\n"
    assert (space.folder / "code.py").read_text() == "a = 1\nb = 2\n"
    assert (space.folder / "docs/readme.md").read_text() == "read it\n"


@pytest.mark.parametrize("old", ["a", "zebra", ""])
async def test_a_text_that_is_not_there_exactly_once_is_not_replaced(space: CheckoutWorkspace, old: str) -> None:
    assert (await done(space, "edit_file", path="code.py", old=old, new="x")).startswith("Error: old is ")
    assert (space.folder / "code.py").read_text() == "a = 1\nb = a\n"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link", "linked/secret.txt", "a\0b", "docs"])
async def test_no_tool_leaves_the_repository(space: CheckoutWorkspace, path: str, tmp_path: Path) -> None:
    (space.folder / "link").symlink_to(tmp_path / "secret.txt")
    (space.folder / "linked").symlink_to(tmp_path)
    assert (await done(space, "read_file", path=path)).startswith("Error: ")
    assert (await done(space, "write_file", path=path, content="x")).startswith("Error: ")
    assert (await done(space, "edit_file", path=path, old="secret", new="x")).startswith("Error: ")
    assert "secret" not in await done(space, "search", text="the")
    assert (tmp_path / "secret.txt").read_text() == "the secret"
    patch = (
        "--- a/linked/secret.txt\n+++ b/linked/secret.txt\n@@ -1 +1 @@\n-the secret\n\\ No newline at end of file\n+x\n"
    )
    assert (await done(space, "apply_patch", patch=patch)).startswith("Error: ")


async def test_what_is_no_text_is_not_read(space: CheckoutWorkspace) -> None:
    (space.folder / "binary").write_bytes(b"\xff\xfe")
    assert "is not text" in await done(space, "read_file", path="binary")
    assert "first_line" in await done(space, "read_file", path="code.py", first_line="-1")


async def test_a_shell_command_runs_in_the_repository_alone(space: CheckoutWorkspace, tmp_path: Path) -> None:
    assert available(), available().reason
    connect = 'import socket; socket.create_connection(("127.0.0.1", 9), 1)'
    command = f"pwd; cat {tmp_path}/secret.txt; echo y > made; python -c '{connect}'"
    said = await done(space, "shell", command=command)
    assert str(space.folder) in said
    assert "the secret" not in said
    assert "Error" in said
    assert (space.folder / "made").read_text() == "y\n"


def test_without_confinement_there_is_no_shell(space: CheckoutWorkspace) -> None:
    assert "code.shell" not in {own.capability for own in work_tools(space, shell=False)}
