"""The command line of apptainer, through a command that records how it is called."""

import json
import os
import stat
from pathlib import Path

import pytest

from mesocosm.core.container import ContainerCommand, ContainerImage, ContainerSpec, NetworkPolicy
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.containers.engines import open_engine
from mesocosm.store.lease_owner import this_process

COMMAND = """#!/bin/sh
echo "$@" >> "$APPTAINER_RECORDED/calls"
echo "$APPTAINERENV_GIVEN" >> "$APPTAINER_RECORDED/given"
if [ "$1 $2" = "instance list" ]; then cat "$APPTAINER_RECORDED/instances"; fi
if [ "$1" = exec ]; then exit "$(cat "$APPTAINER_RECORDED/code")"; fi
[ ! -e "$APPTAINER_RECORDED/broken" ] || { echo "no such image" >&2; exit 255; }
"""
SPEC = ContainerSpec(ContainerImage("python:3.13"), workdir="/app", env={"GIVEN": "a value"}, labels={"task": "one"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    command = tmp_path / "commands" / "apptainer"
    command.parent.mkdir()
    command.write_text(COMMAND)
    command.chmod(stat.S_IRWXU)
    (tmp_path / "code").write_text("0")
    (tmp_path / "instances").write_text(json.dumps({"instances": [{"instance": "x"}]}))
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("APPTAINER_RECORDED", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def calls(place: Path) -> list[str]:
    return (place / "calls").read_text().splitlines()


async def test_an_instance_is_started_used_and_stopped(place: Path) -> None:
    engine = open_engine("apptainer", this_process())
    container = await engine.start(SPEC, lambda _: None)
    (lease,) = await engine.leases()
    await container.exec(ContainerCommand(["ls", "-l"]))
    await container.stop()
    start, use, stop = calls(place)
    assert start.startswith("instance start --containall --no-home --writable-tmpfs")
    assert start.endswith(f"docker://python:3.13 {container.name}")
    assert use == f"exec --pwd /app instance://{container.name} ls -l"
    assert stop == f"instance stop {container.name}"
    assert (place / "given").read_text().splitlines()[:2] == ["a value", "a value"]
    assert (lease.name, lease.owner, lease.labels) == (container.name, this_process(), {"task": "one"})
    assert await engine.leases() == []


async def test_an_instance_that_does_not_start_leaves_nothing(place: Path) -> None:
    (place / "broken").touch()
    engine = open_engine("apptainer", this_process())
    with pytest.raises(EpisodeError, match=r"python:3\.13` ended with exit code 255") as raised:
        await engine.start(SPEC, lambda _: None)
    assert (raised.value.cause, raised.value.stderr) == (Cause.SANDBOX_FAILED, "no such image\n")
    assert await engine.leases() == []


async def test_an_instance_that_has_ended_is_told_from_a_command_that_failed(place: Path) -> None:
    container = await open_engine("apptainer", this_process()).start(SPEC, lambda _: None)
    (place / "code").write_text("255")
    assert (await container.exec(ContainerCommand(["odd"]))).code == 255
    (place / "instances").write_text('{"instances": []}')
    with pytest.raises(EpisodeError, match="has ended"):
        await container.exec(ContainerCommand(["odd"]))
    await container.stop()


async def test_what_is_left_is_removed(place: Path) -> None:
    engine = open_engine("apptainer", this_process())
    container = await engine.start(SPEC, lambda _: None)
    await engine.remove(container.name)
    assert calls(place)[-1] == f"instance stop {container.name}"
    assert await engine.leases() == []


def test_dockerfiles_networks_and_accounts_are_refused(place: Path) -> None:
    spec = ContainerSpec(
        ContainerImage(context=place), networks=(NetworkPolicy("no-network"),), users=("agent", "root")
    )
    dockerfile, network, account = open_engine("apptainer", this_process()).refusals(spec)
    assert "builds no Dockerfile" in dockerfile
    assert "network is restricted" in network
    assert "'agent'" in account
