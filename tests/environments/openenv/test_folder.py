"""Folders with an openenv.yaml: their interpreter, their server, and its end."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mesocosm.core.failure import EpisodeError, InvalidInput, RunAborted, UsageError
from mesocosm.core.inherited import inherited
from mesocosm.environments.openenv.description import describe_server
from mesocosm.environments.openenv.folder import FolderServer, OpenEnvFolder, read_folder
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.sandboxes.installed import MARK
from mesocosm.sandboxes.plain import PlainSandbox

APP = """
import os
from fastapi import FastAPI

app = FastAPI()

@app.get("/health")
def health():
    return {"status": "healthy", "pid": os.getpid(), "secret": os.environ.get("SOME_TOKEN"), "cwd": os.getcwd()}

@app.get("/schema")
def schema():
    return {"action": {"properties": {"x": {"type": "string"}}, "required": ["x"]}, "observation": {}}

@app.get("/end")
def end():
    os._exit(3)
"""
AS_PACKAGE = "from ..models import NAME\n" + APP
YAML = """
spec_version: 1
name: doubled
version: 0.7.0
app: server.app:app
validation:
  reward: {range: [-1, 2.5]}
  capabilities: {task_api: true}
"""


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter that has OpenEnv, as far as can be seen from outside."""
    packages = tmp_path / "packages"
    (packages / "openenv").mkdir(parents=True)
    (packages / "openenv" / "__init__.py").touch()
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def written(tmp_path: Path, *, app: str = APP, yaml: str = YAML) -> Path:
    folder = tmp_path / "doubled"
    (folder / "server").mkdir(parents=True)
    (folder / "openenv.yaml").write_text(yaml)
    (folder / "models.py").write_text("NAME = 'x'\n")
    (folder / "server" / "app.py").write_text(app)
    return folder


def test_what_the_yaml_says_is_read(tmp_path: Path, python: str) -> None:
    folder = read_folder(str(written(tmp_path)), python)
    assert (folder.name, folder.version, folder.app) == ("doubled", "0.7.0", "server.app:app")
    assert (folder.reward_range, folder.has_tasks, folder.package) == ((-1.0, 2.5), True, "doubled")
    assert set(folder.files) == {"openenv.yaml", "models.py", "server/app.py"}


def test_the_package_is_that_of_its_start_script(tmp_path: Path, python: str) -> None:
    folder = written(tmp_path, yaml="name: doubled\n")
    (folder / "pyproject.toml").write_text('[project]\nversion = "3.1"\nscripts = {server = "other.server.app:main"}\n')
    read = read_folder(str(folder / "openenv.yaml"), python)
    assert (read.package, read.version, read.reward_range, read.has_tasks) == ("other", "3.1", None, False)


def test_an_interpreter_without_openenv_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"lacks openenv\. Install it with `mesocosm guests install openenv`.*python="):
        read_folder(str(written(tmp_path)), sys.executable)


def test_the_environments_own_interpreter_comes_before_that_of_guests(
    tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, guests = written(tmp_path), tmp_path / "guests" / "openenv" / "e1" / "bin"
    guests.mkdir(parents=True)
    (guests / "python").symlink_to(python)
    (tmp_path / "guests" / "openenv" / MARK).write_text('{"environment": "e1"}')
    monkeypatch.setenv("MESOCOSM_GUESTS_DIR", str(tmp_path / "guests"))
    assert read_folder(str(folder)).python == str(guests / "python")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(python)
    assert read_folder(str(folder)).python == str(folder / ".venv" / "bin" / "python")


def test_what_is_no_environment_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no openenv\.yaml"):
        read_folder(str(tmp_path))
    with pytest.raises(UsageError, match="is no folder"):
        read_folder(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="there is no such program"):
        read_folder(str(written(tmp_path)), "no-such-python")


@pytest.mark.parametrize("yaml", ["a: [", "- a list", "name: x\nruntime: node\n"])
def test_a_broken_manifest_is_said(tmp_path: Path, python: str, yaml: str) -> None:
    with pytest.raises(InvalidInput, match=r"openenv\.yaml"):
        read_folder(str(written(tmp_path, yaml=yaml)), python)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient() as client:
        yield client


def server_of(folder: OpenEnvFolder, client: HttpClient) -> FolderServer:
    return FolderServer(folder, PlainSandbox(environment=inherited(os.environ)), client, 60.0)


@pytest.mark.parametrize("app", [APP, AS_PACKAGE])
async def test_the_server_is_started_and_ends_with_us(
    tmp_path: Path, python: str, client: HttpClient, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hidden")
    folder = read_folder(str(written(tmp_path, app=app)), python)
    server = server_of(folder, client)
    notices: list[str] = []
    launched = await server.open(notices.append)
    health = (await client.request("GET", f"{launched.url}/health", timeout=30)).body
    described = await describe_server(client, launched.url)
    await server.close()
    assert b'"secret":null' in health
    assert str(folder.path).encode() in health
    assert described.action["required"] == ["x"]
    assert launched.process.returncode is not None
    assert notices[0].startswith("started uvicorn " + ("doubled." if app is AS_PACKAGE else "server."))


async def test_a_server_that_ended_is_started_again(tmp_path: Path, python: str, client: HttpClient) -> None:
    server = server_of(read_folder(str(written(tmp_path)), python), client)
    notices: list[str] = []
    first = await server.open(notices.append)
    assert await server.host() is first
    with pytest.raises(HttpError):
        await client.request("GET", f"{first.url}/end", timeout=30, resend=False)
    await first.process.wait()
    second, same = await asyncio.gather(server.host(), server.host())
    await server.close()
    assert second is same is not first
    assert notices[1] == "uvicorn server.app:app ended with exit code 3; starting it again"


async def test_a_server_that_does_not_start_says_its_last_words(
    tmp_path: Path, python: str, client: HttpClient
) -> None:
    server = server_of(read_folder(str(written(tmp_path, app="raise SystemError('no abacus')")), python), client)
    with pytest.raises(RunAborted, match=r"(?s)doubled does not start: .*no abacus") as caught:
        await server.open(lambda _: None)
    assert caught.value.exit_code == 4


async def test_changed_files_are_not_played(tmp_path: Path, python: str, client: HttpClient) -> None:
    folder = read_folder(str(written(tmp_path)), python)
    (folder.path / "models.py").write_text("NAME = 'y'\n")
    with pytest.raises(EpisodeError, match=r"models\.py of the environment doubled has changed"):
        await server_of(folder, client).open(lambda _: None)
