"""Sandboxes by the docker command line, against a stand-in for it that runs commands plainly."""

import json
import os
import sys
from pathlib import Path

import pytest

from mesocosm.core.failure import EpisodeError
from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.bubblewrap import ACCOUNT
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import ProgramSandbox

STAND_IN = """#!{python}
import json, os, sys
with open({told!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + chr(10))
if sys.argv[1] == "run":
    words = sys.argv[2:]
    place = words[words.index("--env-file") + 1]
    env = dict(line.rstrip(chr(10)).split("=", 1) for line in open(place))
    command = words[words.index("an/image:3") + 1:]
    os.chdir(words[words.index("--workdir") + 1])
    os.execvpe(command[0], command, {{**env, "PATH": os.environ["PATH"]}})
"""


class Docker:
    """What the stand-in was told."""

    def __init__(self, told: Path) -> None:
        self._told = told

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self._told.read_text().splitlines()]

    def given(self, option: str) -> list[str]:
        words = self.calls[0]
        return [words[place + 1] for place, word in enumerate(words) if word == option]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """The stand-in, first on the path."""
    programs = tmp_path / "bin"
    programs.mkdir()
    told = tmp_path / "told"
    stand_in = programs / "docker"
    stand_in.write_text(STAND_IN.format(python=sys.executable, told=str(told)))
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Docker(told)


@pytest.fixture
def sandbox(tmp_path: Path) -> ProgramSandbox:
    """A sandbox of this kind."""
    (tmp_path / "packages").mkdir()
    return ProgramSandbox(
        kind="docker",
        image="an/image:3",
        most_memory=512 * MIB,
        allowance=ProgramLimits(cpu_seconds=60, processes=32, file_bytes=MIB, open_files=100, scratch_bytes=8 * MIB),
        readable=(tmp_path / "packages",),
        hidden=(tmp_path / "packages/secret",),
    )


async def test_a_server_is_reached_and_its_container_removed(
    docker: Docker, sandbox: ProgramSandbox, source: Path
) -> None:
    port = free_port()
    sandboxed = await sandbox.serve(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], cwd=source, port=port
    )
    async with HttpClient(socket=sandboxed.socket) as client:
        await wait_healthy("http://environment/", sandboxed.process, client=client)
        assert (await client.request("GET", "http://environment/", timeout=60)).status == 200
    await sandboxed.stop(grace=1)
    (name,) = docker.given("--name")
    assert docker.calls[-1] == ["rm", "--force", name]
    assert (sandboxed.reason, sandboxed.socket.parent.exists()) == ("", False)


async def test_the_container_has_no_network_no_rights_and_limits(
    docker: Docker, sandbox: ProgramSandbox, source: Path
) -> None:
    finished = await sandbox.run(["true"], cwd=source, seconds=20)
    assert finished.how == "ok"
    words = docker.calls[0]
    assert {"--rm", "--read-only", "--init"} <= set(words)
    assert docker.given("--network") == ["none"]
    assert docker.given("--cap-drop") == ["ALL"]
    assert docker.given("--security-opt") == ["no-new-privileges"]
    number = ACCOUNT if os.getuid() == 0 else os.getuid()
    assert docker.given("--user") == [f"{number}:{number}"]
    assert docker.given("--memory") == docker.given("--memory-swap") == [str(512 * MIB)]
    assert docker.given("--pids-limit") == ["40"]
    assert docker.given("--ulimit") == ["cpu=60:60", f"fsize={MIB}:{MIB}", "nofile=100:100", "core=0:0"]
    assert f"/tmp:rw,nosuid,nodev,size={8 * MIB},mode=1777" in docker.given("--tmpfs")
    assert words[-2:] == ["an/image:3", "true"]


async def test_only_writable_folders_are_mounted_to_be_written(
    docker: Docker, sandbox: ProgramSandbox, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    await sandbox.run(["true"], cwd=source, writable=(out,), seconds=20)
    mounts = {mount.partition("target=")[2]: mount for mount in docker.given("--mount")}
    assert [target for target in mounts if not target.endswith(",readonly")] == [str(out)]
    assert {f"{source},readonly", f"{tmp_path / 'packages'},readonly", "/etc/passwd,readonly"} <= set(mounts)
    assert f"{tmp_path / 'packages/secret'}:ro,size=4096" in docker.given("--tmpfs")


async def test_variables_are_not_on_the_command_line(
    docker: Docker, sandbox: ProgramSandbox, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-canary")
    script = "import os; print(os.environ['FLAVOUR'], os.environ.get('OPENAI_API_KEY'))"
    finished = await sandbox.run([sys.executable, "-c", script], cwd=source, env={"FLAVOUR": "salt"}, seconds=20)
    assert finished.output_tail == "salt None"
    assert not [word for word in docker.calls[0] if "salt" in word or "canary" in word]


async def test_a_program_reaches_its_egress(docker: Docker, sandbox: ProgramSandbox, source: Path) -> None:
    script = """
import urllib.request
try:
    urllib.request.urlopen("http://other.example/", timeout=10)
except OSError as error:
    print(error)
"""
    egress = EgressProxy(["pypi.example"])
    finished = await sandbox.run([sys.executable, "-c", script], cwd=source, seconds=20, egress=egress)
    assert finished.output_tail == "HTTP Error 403: Refused"
    assert len(egress.refused) == 1
    assert docker.given("--network") == ["none"]


async def test_a_container_that_the_engine_kills_says_why(
    docker: Docker, sandbox: ProgramSandbox, source: Path
) -> None:
    finished = await sandbox.run(["sh", "-c", "exit 137"], cwd=source, seconds=20)
    assert (finished.code, finished.how) == (137, "limit")
    assert "more than 512 MB of memory" in finished.reason
    assert docker.calls[-1][0] == "rm"


@pytest.mark.parametrize(
    ("env", "folder", "words"), [({"A": "1\n2"}, "plain", "several lines: A"), ({}, "a,b", "with a comma")]
)
async def test_what_the_command_line_cannot_carry_is_refused(
    env: dict[str, str], folder: str, words: str, docker: Docker, sandbox: ProgramSandbox, source: Path
) -> None:
    (source / folder).mkdir()
    with pytest.raises(EpisodeError, match=words):
        await sandbox.run(["true"], cwd=source / folder, env=env, seconds=20)
