"""Containers without images: what happens in them, and what is left of them."""

import asyncio
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from mesocosm.core.container import (
    Container,
    ContainerCommand,
    ContainerEngine,
    ContainerImage,
    ContainerLimits,
    ContainerSpec,
    NetworkPolicy,
)
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.containers.engines import open_engine
from mesocosm.store.lease_owner import alive, this_process

pytestmark = pytest.mark.skipif(not available(), reason="there is no bubblewrap")
NONE = NetworkPolicy("no-network")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The folders of other tests are not ours to list.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def engine() -> ContainerEngine:
    return open_engine("bubblewrap", this_process())


async def started(**more: object) -> Container:
    given = {"image": ContainerImage("debian:12"), "networks": (NONE,), **more}
    return await engine().start(ContainerSpec(**given), lambda _: None)  # type: ignore[arg-type]


async def text(container: Container, script: str, **more: object) -> str:
    ended = await container.exec(ContainerCommand(["sh", "-c", script], seconds=60, **more))  # type: ignore[arg-type]
    return (ended.out + ended.err).decode()


async def test_commands_see_files_variables_and_folder_of_the_container() -> None:
    container = await started(env={"A": "one"}, workdir="/app")
    try:
        found = await text(container, "echo x > here; pwd; id -u; echo $A $B", env={"B": "two"})
        later = await text(container, "cat /app/here; ls /root | wc -l")
    finally:
        await container.stop()
    assert found == "/app\n0\none two\n"
    assert later == "x\n0\n"


async def test_the_system_cannot_be_changed_and_the_host_not_seen(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    container = await started()
    try:
        changed = await container.exec(ContainerCommand(["sh", "-c", "echo x > /usr/bin/test"]))
        seen = await container.exec(ContainerCommand(["cat", str(tmp_path / "secret")]))
    finally:
        await container.stop()
    assert changed.code != 0
    assert seen.code != 0


async def test_what_runs_in_the_background_lives_until_the_container_stops() -> None:
    container = await started()
    try:
        await text(container, "(while :; do date > /tmp/beat; sleep 0.01; done) >/dev/null 2>&1 & echo $! > /tmp/pid")
        alive_then = await text(container, "kill -0 $(cat /tmp/pid) && echo lives")
    finally:
        await container.stop()
    assert alive_then == "lives\n"
    with pytest.raises(EpisodeError):
        await container.exec(ContainerCommand(["true"]))


async def test_a_late_command_is_ended_and_the_container_lives() -> None:
    container = await started()
    try:
        ended = await container.exec(ContainerCommand(["sleep", "1000"], seconds=0.5))
        rest = await text(container, "echo here")
    finally:
        await container.stop()
    assert ended.late
    assert rest == "here\n"


async def test_a_program_that_is_not_there_ends_with_127() -> None:
    container = await started()
    try:
        ended = await container.exec(ContainerCommand(["no-such-program"]))
    finally:
        await container.stop()
    assert (ended.code, ended.err) == (127, b"no-such-program: No such file or directory\n")


async def test_who_kills_everything_ends_the_container() -> None:
    container = await started()
    try:
        with pytest.raises(EpisodeError, match="the container has ended") as raised:
            await container.exec(ContainerCommand(["sh", "-c", "kill -9 -1; sleep 1000"], seconds=60))
    finally:
        await container.stop()
    assert raised.value.cause is Cause.ENVIRONMENT_ERROR


async def test_only_root_is_there() -> None:
    spec = ContainerSpec(ContainerImage("debian:12"), users=("agent",))
    assert any("'agent'" in why for why in engine().refusals(spec))


async def test_files_go_in_and_come_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("x")
    container = await started()
    try:
        await container.put(tmp_path / "in", "/new/folder")
        await container.put(tmp_path / "in" / "a.txt", "/new/other.txt")
        await text(container, "ln -s /etc/passwd /new/folder/link; echo more >> /new/folder/a.txt")
        found = await container.get("/new", tmp_path / "out")
        missing = await container.get("/not-there", tmp_path / "nothing")
    finally:
        await container.stop()
    assert (found, missing) == (True, False)
    assert (tmp_path / "out" / "folder" / "a.txt").read_text() == "xmore\n"
    assert not (tmp_path / "out" / "folder" / "link").is_symlink()


async def test_a_dockerfile_is_followed(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\nWORKDIR /app\nENV A=1\nCOPY a.txt b/ ./\nRUN cat a.txt > $A\n")
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("deep")
    container = await started(image=ContainerImage(context=tmp_path))
    try:
        assert await text(container, "cat 1 c.txt; echo $A") == "textdeep1\n"
    finally:
        await container.stop()


async def test_a_command_of_a_dockerfile_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\nRUN true\nRUN echo broken >&2; exit 9\n")
    with pytest.raises(EpisodeError, match=r"line 3 of the Dockerfile, RUN .* exit code 9") as raised:
        await started(image=ContainerImage(context=tmp_path))
    assert raised.value.stderr == "broken\n"
    assert await engine().leases() == []


async def test_without_a_network_only_the_doors_are_reached() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"from outside\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    ports = [one.sockets[0].getsockname()[1] for one in (server, other)]
    container = await started(ports=(ports[0],))
    connecting = "exec 3<>/dev/tcp/127.0.0.1/{} && cat <&3"
    try:
        door = await container.exec(ContainerCommand(["bash", "-c", connecting.format(ports[0])], seconds=60))
        wall = await container.exec(ContainerCommand(["bash", "-c", connecting.format(ports[1])], seconds=60))
    finally:
        await container.stop()
        server.close()
        other.close()
    assert door.out == b"from outside\n"
    assert wall.code != 0


async def test_a_phase_has_the_network_of_its_policy() -> None:
    allowed = NetworkPolicy("allowlist", ("example.com",))
    container = await started(networks=(NONE, allowed))
    try:
        before = await text(container, "env | grep -ci http_proxy")
        await container.admit(allowed)
        after = await text(container, "env | grep -ci http_proxy")
        await container.admit(NONE)
        again = await text(container, "env | grep -ci http_proxy")
    finally:
        await container.stop()
    assert (before, after, again) == ("0\n", "2\n", "0\n")


async def test_the_proxy_of_an_allowlist_refuses_other_hosts() -> None:
    allowed = NetworkPolicy("allowlist", ("*.example.com",))
    container = await started(networks=(allowed,))
    opening = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}"
    asking = f'{opening} && printf "CONNECT evil.test:443 HTTP/1.1\\r\\n\\r\\n" >&3 && cat <&3'
    try:
        ended = await container.exec(ContainerCommand(["bash", "-c", asking], seconds=60))
    finally:
        await container.stop()
    assert b"this host is not allowed" in ended.out


async def test_sixteen_at_once_are_apart_and_none_is_left() -> None:
    containers = await asyncio.gather(*(started(labels={"task": str(number)}) for number in range(16)))
    try:
        for number, container in enumerate(containers):
            await text(container, f"echo {number} > /tmp/own")
        found = await asyncio.gather(*(text(container, "cat /tmp/own") for container in containers))
        leases = await engine().leases()
    finally:
        await asyncio.gather(*(container.stop() for container in containers))
    assert found == [f"{number}\n" for number in range(16)]
    assert sorted(lease.labels["task"] for lease in leases) == sorted(map(str, range(16)))
    assert await engine().leases() == []


KILLED = """
import asyncio, sys, tempfile
from mesocosm.core.container import ContainerCommand, ContainerImage, ContainerSpec, NetworkPolicy
from mesocosm.sandboxes.containers.engines import open_engine
from mesocosm.store.lease_owner import this_process
tempfile.tempdir = sys.argv[1]
async def main():
    spec = ContainerSpec(ContainerImage("x"), networks=(NetworkPolicy("no-network"),))
    container = await open_engine("bubblewrap", this_process()).start(spec, print)
    await container.exec(ContainerCommand(["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo x > /tmp/left"]))
    print(container._inside, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_what_a_killed_process_left_is_found_and_removed(tmp_path: Path) -> None:
    await asyncio.to_thread(start_and_kill, tmp_path)
    (lease,) = await engine().leases()
    assert lease.owner is not None
    assert alive(lease.owner) is False
    await engine().remove(lease.name)
    assert await engine().leases() == []
    assert roots(tmp_path) == []


def roots(place: Path) -> list[Path]:
    return list(place.glob("mesocosm-box-*/root"))


def start_and_kill(place: Path) -> None:
    """Start a container in another process, kill that, and wait until what ran in the container is gone too."""
    words = [sys.executable, "-c", KILLED, str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        inside = os.pidfd_open(int(process.stdout.readline()))
        process.kill()
    with os.fdopen(inside):
        assert select.select([inside], [], [], 60)[0]


async def test_a_limit_that_is_not_enforced_is_told() -> None:
    spec = ContainerSpec(ContainerImage("x"), ContainerLimits(storage_mb=10))
    assert any("storage" in doubt for doubt in engine().doubts(spec))
