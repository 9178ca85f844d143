"""The command line of docker and podman, through a command that records how it is called."""

import json
import os
import stat
from pathlib import Path

import pytest

from mesocosm.core.container import (
    ContainerCommand,
    ContainerEngine,
    ContainerImage,
    ContainerLimits,
    ContainerSpec,
    NetworkPolicy,
)
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.sandboxes.containers.engines import open_engine
from mesocosm.store.lease_owner import this_process

ENGINE = """#!/usr/bin/env python3
import json, os, sys
place = os.environ["XDG_RECORDED"]
with open(os.path.join(place, "calls"), "a") as file:
    seen = {name: value for name, value in os.environ.items() if name.startswith("GIVEN_")}
    file.write(json.dumps({"words": sys.argv[1:], "env": seen}) + "\\n")
answers = json.load(open(os.path.join(place, "answers")))
for start, (code, out) in answers.items():
    if " ".join(sys.argv[1:]).startswith(start):
        sys.stdout.write(out)
        sys.stderr.write("" if code == 0 else "the engine says no\\n")
        sys.exit(code)
"""


class Recorded:
    """The recorded command: what it was called with, and what it answers to calls that begin like this."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.answer({})

    def answer(self, answers: dict[str, tuple[int, str]]) -> None:
        (self.place / "answers").write_text(json.dumps(answers))

    @property
    def calls(self) -> list[list[str]]:
        lines = (self.place / "calls").read_text().splitlines() if (self.place / "calls").exists() else []
        return [json.loads(line)["words"] for line in lines]

    @property
    def variables(self) -> list[dict[str, str]]:
        return [json.loads(line)["env"] for line in (self.place / "calls").read_text().splitlines()]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("docker", "podman"):
        (commands / name).write_text(ENGINE)
        (commands / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RECORDED", str(tmp_path))
    return Recorded(tmp_path)


@pytest.fixture(params=["docker", "podman"])
def engine(request: pytest.FixtureRequest) -> ContainerEngine:
    return open_engine(request.param, this_process())


def spec(**more: object) -> ContainerSpec:
    given = {"image": ContainerImage("busybox"), "networks": (NetworkPolicy("no-network"),), **more}
    return ContainerSpec(**given)  # type: ignore[arg-type]


def ignore(_: str) -> None:
    pass


async def test_a_container_is_started_with_limits_labels_and_without_a_network(
    recorded: Recorded, engine: ContainerEngine
) -> None:
    limits = ContainerLimits(cpus=1.5, memory_mb=512, gpus=1)
    container = await engine.start(spec(limits=limits, workdir="/app", env={"GIVEN_KEY": "a secret"}), ignore)
    run = next(call for call in recorded.calls if call[0] == "run")
    await container.stop()
    words = " ".join(run)
    assert f"--name {container.name} " in words
    assert "--network none --cpus 1.5 --memory 512m --memory-swap 512m --gpus 1 --workdir /app" in words
    assert words.endswith("--env GIVEN_KEY busybox sh -c sleep infinity")
    assert "mesocosm.owner=" in words
    assert "a secret" not in words
    assert {"GIVEN_KEY": "a secret"} in recorded.variables
    assert recorded.calls[-1] == ["rm", "--force", "--volumes", container.name]


async def test_an_image_that_is_there_is_not_pulled(recorded: Recorded, engine: ContainerEngine) -> None:
    await engine.start(spec(), ignore)
    assert [call[0] for call in recorded.calls] == ["image", "run"]


async def test_an_image_that_is_not_there_is_pulled_once(recorded: Recorded, engine: ContainerEngine) -> None:
    recorded.answer({"image inspect": (1, "")})
    said: list[str] = []
    await engine.start(spec(), said.append)
    await engine.start(spec(), said.append)
    assert [call[0] for call in recorded.calls] == ["image", "pull", "run", "run"]
    assert said == [f"{engine.name} pulls busybox"]


async def test_a_build_context_is_built_by_its_content(
    recorded: Recorded, engine: ContainerEngine, tmp_path: Path
) -> None:
    context = tmp_path / "environment"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM busybox\n")
    await engine.start(spec(image=ContainerImage(context=context)), ignore)
    build, run = recorded.calls
    tag = build[build.index("--tag") + 1]
    assert build[0] == "build"
    assert build[-1] == str(context)
    assert tag in run


async def test_a_failed_start_is_a_failure_of_the_sandbox_with_its_words(
    recorded: Recorded, engine: ContainerEngine
) -> None:
    recorded.answer({"run": (125, "")})
    with pytest.raises(EpisodeError, match="run` ended with exit code 125: the engine says no") as raised:
        await engine.start(spec(), ignore)
    assert raised.value.cause is Cause.SANDBOX_FAILED
    assert recorded.calls[-1][0] == "rm"


async def test_a_public_network_is_cut_for_a_phase_without(recorded: Recorded, engine: ContainerEngine) -> None:
    none, public = NetworkPolicy("no-network"), NetworkPolicy()
    container = await engine.start(spec(networks=(none, public)), ignore)
    await container.admit(public)
    await container.admit(none)
    bridge = {"docker": "bridge", "podman": "podman"}[engine.name]
    changes = [call[1:] for call in recorded.calls if call[0] == "network"]
    assert changes == [[word, bridge, container.name] for word in ("disconnect", "connect", "disconnect")]


async def test_a_command_is_run_as_a_user_in_a_folder_and_ended_in_time(
    recorded: Recorded, engine: ContainerEngine
) -> None:
    container = await engine.start(spec(), ignore)
    await container.exec(
        ContainerCommand(["ls", "-l"], user="agent", cwd="/app", env={"GIVEN_X": "y"}, seconds=5, stdin=b"x")
    )
    *words, script, seconds, program, argument = recorded.calls[-1]
    expected = ["exec", "--interactive", "--env", "GIVEN_X", "--user", "agent", "--workdir", "/app", container.name]
    assert words == [*expected, "sh", "-c"]
    assert "exec timeout -k 5" in script
    assert (seconds, program, argument) == ("5.000", "ls", "-l")
    assert recorded.variables[-1] == {"GIVEN_X": "y"}


async def test_a_container_that_has_ended_is_told_from_a_command_that_failed(
    recorded: Recorded, engine: ContainerEngine
) -> None:
    container = await engine.start(spec(), ignore)
    recorded.answer({"exec": (1, ""), "inspect": (0, "true\n")})
    assert (await container.exec(ContainerCommand(["false"]))).code == 1
    recorded.answer({"exec": (1, ""), "inspect": (0, "false\n")})
    with pytest.raises(EpisodeError, match="has ended") as raised:
        await container.exec(ContainerCommand(["false"]))
    assert raised.value.cause is Cause.ENVIRONMENT_ERROR


async def test_the_leases_are_read_from_labels(recorded: Recorded, engine: ContainerEngine) -> None:
    await engine.start(spec(labels={"task": "one"}), ignore)
    run = next(call for call in recorded.calls if call[0] == "run")
    labels = dict(word.split("=", 1) for word in run if word.startswith("mesocosm."))
    told = f"/mesocosm-1\t{labels['mesocosm.owner']}\t{labels['mesocosm.since']}\n/foreign\tnonsense\t\n"
    recorded.answer({"ps": (0, "mesocosm-1\nforeign\n"), "inspect": (0, told)})
    first, second = await engine.leases()
    assert (first.name, first.owner, first.labels) == ("mesocosm-1", this_process(), {"task": "one"})
    assert (second.name, second.owner) == ("foreign", None)


async def test_an_engine_that_does_not_answer_is_named(recorded: Recorded, engine: ContainerEngine) -> None:
    recorded.answer({"ps": (1, "")})
    with pytest.raises(InfrastructureError, match=f"the containers of {engine.name} cannot be listed"):
        await engine.leases()


def test_services_and_ranges_of_addresses_are_refused(
    recorded: Recorded, engine: ContainerEngine, tmp_path: Path
) -> None:
    del recorded
    (tmp_path / "docker-compose.yaml").write_text("services: {}\n")
    image = ContainerImage(context=tmp_path)
    services, addresses = engine.refusals(spec(image=image, networks=(NetworkPolicy("allowlist", ("10.0.0.0/8",)),)))
    assert "docker-compose.yaml starts services" in services
    assert "10.0.0.0/8 is a range of addresses" in addresses


def test_a_missing_command_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch, engine: ContainerEngine) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (problem,) = engine.refusals(spec())
    assert problem == f"the command {engine.name} is not found; install it, or choose -P engine=bubblewrap"
