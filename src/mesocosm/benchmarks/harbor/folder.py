"""A task folder: what is asked, where the agent works, and how it is verified."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.harbor.config import (
    MAIN,
    AgentTable,
    ArtifactTable,
    EnvironmentTable,
    HarborConfig,
    HealthCheck,
    VerifierTable,
    hosts,
    read_config,
)
from mesocosm.core.container import ContainerImage, NetworkPolicy
from mesocosm.core.failure import UsageError
from mesocosm.sandboxes.containers.content import folder_digest

CONFIG, BENCH_CONFIG = "task.toml", "task.yaml"
ARTIFACTS = "/logs/artifacts"
_CANARY = re.compile(r"^(<!--.*canary.*-->|#.*canary.*)$", re.IGNORECASE)
_LABELS = ("difficulty", "category")
_LONGEST_LABEL = 80


@dataclass(frozen=True, slots=True)
class Phase:
    """One instruction with its verification: the whole task, or a step of it.

    `tests` are folders whose content becomes /tests, later ones on top; `script` is the text of a test script that is
    not in them. `solution` is a folder with solve.sh, or None.
    """

    name: str
    instruction: str
    agent: AgentTable
    verifier: VerifierTable
    tests: tuple[Path, ...] = ()
    script: str = ""
    solution: Path | None = None
    solve: str = "solve.sh"
    workdir: Path | None = None
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthCheck | None = None
    artifacts: tuple[ArtifactTable, ...] = ()
    separate: EnvironmentTable | None = None
    bundled: Path | None = None
    """The folder with the Dockerfile of a separate verifier, which brings its own tests."""
    own_image: bool = False
    """Whether the environment of the separate verifier names an image of its own, which brings its own tests."""

    def image(self, task: "TaskFolder") -> ContainerImage:
        """Return the image of the separate verifier."""
        assert self.separate is not None
        seconds = self.separate.build_timeout_sec
        if self.own_image:
            return ContainerImage(self.separate.docker_image or "", build_seconds=seconds)
        if self.bundled is not None:
            return ContainerImage(context=self.bundled, build_seconds=seconds)
        return task.image


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task. `refused` lists what it needs and nobody here can give; `warnings` are for readers of results."""

    id: str
    folder: Path
    digest: str
    config: HarborConfig
    phases: tuple[Phase, ...]
    image: ContainerImage
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def environment(self) -> EnvironmentTable:
        """The table [environment]."""
        return self.config.environment

    def agent_policy(self, phase: Phase) -> NetworkPolicy:
        """Return what the agent of a phase may reach."""
        return hosts(phase.agent.policy or self.config.agent.policy or self.environment.policy)

    def verifier_policy(self, phase: Phase) -> NetworkPolicy:
        """Return what the verifier of a phase may reach."""
        table = phase.separate if phase.separate is not None else self.environment
        return hosts(phase.verifier.policy or self.config.verifier.policy or table.policy)


def read_harbor_folder(folder: Path) -> TaskFolder:
    """Return a task of Harbor. Raises UsageError with the file that cannot be read."""
    config, warnings = read_config(text_of(folder / CONFIG), str(folder / CONFIG))
    phases = tuple(_phases(folder, config))
    return TaskFolder(
        id=folder.name,
        folder=folder,
        digest=folder_digest(folder),
        config=config,
        phases=phases,
        image=image_of(config.environment, folder / "environment"),
        env=config.environment.env,
        labels=labels_of(config.metadata),
        refused=tuple(_refused(folder, config, phases)),
        warnings=(*warnings, *_doubts(folder, config)),
    )


def _phases(folder: Path, config: HarborConfig) -> list[Phase]:
    if config.steps:
        return [_step(folder, config, place) for place in range(len(config.steps))]
    task = Phase(
        "",
        without_canary(text_of(folder / "instruction.md")),
        config.agent,
        config.verifier,
        tests=_existing(folder / "tests"),
        solution=_solution(folder / "solution"),
        artifacts=_artifacts(config.artifacts),
        **_separate(config, config.verifier, [(config.verifier.environment, folder / "tests")]),
    )
    _require_tests(folder, task)
    return [task]


def _step(folder: Path, config: HarborConfig, place: int) -> Phase:
    assert config.steps is not None
    step = config.steps[place]
    below = folder / "steps" / step.name
    if not below.resolve().is_relative_to(folder):
        raise UsageError(f"{below} is outside of its task")
    agent = AgentTable(
        step.agent.network_mode or config.agent.network_mode,
        step.agent.allowed_hosts if step.agent.network_mode else config.agent.allowed_hosts,
        step.agent.timeout_sec if step.agent.timeout_sec is not None else config.agent.timeout_sec,
        step.agent.user if step.agent.user is not None else config.agent.user,
    )
    phase = Phase(
        step.name,
        without_canary(text_of(below / "instruction.md")),
        agent,
        step.verifier,
        tests=(*_existing(folder / "tests"), *_existing(below / "tests")),
        solution=_solution(below / "solution") or _solution(folder / "solution"),
        workdir=next(iter(_existing(below / "workdir")), None),
        min_reward=step.min_reward,
        healthcheck=step.healthcheck,
        artifacts=_artifacts((*config.artifacts, *step.artifacts)),
        **_separate(
            config,
            step.verifier,
            [(step.verifier.environment, below / "tests"), (config.verifier.environment, folder / "tests")],
        ),
    )
    _require_tests(folder, phase)
    return phase


def _require_tests(folder: Path, phase: Phase) -> None:
    brings_its_own = phase.bundled is not None or phase.own_image
    if not brings_its_own and not any((place / "test.sh").is_file() for place in phase.tests):
        raise UsageError(f"{folder / 'tests' / 'test.sh'} is missing: nothing verifies the task {phase.name}".rstrip())


def _separate(
    config: HarborConfig, verifier: VerifierTable, places: Sequence[tuple[EnvironmentTable | None, Path]]
) -> dict[str, Any]:
    """Return what a phase says about a container of its verifier; nothing if it has none.

    `places` are the environments that may be meant, each with the folder of its tests, the nearest first.
    """
    if (verifier.mode or config.verifier.mode or "shared") == "shared":
        return {}
    table = next((one for one, _ in places if one is not None), config.environment)
    for one, place in places:
        if one is not None and one.docker_image:
            named = msgspec.structs.replace(table, docker_image=one.docker_image)
            return {"separate": named, "own_image": True}
        if any((place / name).is_file() for name in ("Dockerfile", "docker-compose.yaml")):
            return {"separate": table, "bundled": place}
    return {"separate": table}


def _refused(folder: Path, config: HarborConfig, phases: tuple[Phase, ...]) -> list[str]:
    """Return what the task needs and no engine gives."""
    table, found = config.environment, []
    if table.os != "linux":
        found.append(f"its containers have the system {table.os}")
    if table.tpu is not None:
        found.append("it needs a TPU")
    if table.mcp_servers:
        found.append(f"its agent needs the tool server {table.mcp_servers[0].name}")
    if (folder / "trajectory.json").is_file() or any((folder / "steps").glob("*/trajectory.json")):
        found.append("its agent continues a conversation (trajectory.json)")
    if any(folder.rglob(".harborignore")):
        found.append("it leaves out files of its tests by a .harborignore")
    for phase in phases:
        services = [*(one.service for one in phase.artifacts), *(one.service for one in phase.verifier.collect)]
        found += [f"it collects from the service {one}" for one in services if one not in {None, MAIN}]
        found += [
            f"its artifact {one.source} leaves out files (exclude)"
            for one in phase.artifacts
            if one.exclude and phase.separate is not None
        ]
    return list(dict.fromkeys(found))


def _doubts(folder: Path, config: HarborConfig) -> list[str]:
    if config.environment.skills_dir:
        return [f"{folder.name}: the skills in {config.environment.skills_dir} are not given to any agent"]
    return []


def _existing(folder: Path) -> tuple[Path, ...]:
    return (folder,) if folder.is_dir() else ()


def _solution(folder: Path) -> Path | None:
    return folder if (folder / "solve.sh").is_file() else None


def _artifacts(given: tuple[str | ArtifactTable, ...]) -> tuple[ArtifactTable, ...]:
    found = [ArtifactTable(one) if isinstance(one, str) else one for one in given]
    if not any(one.source.rstrip("/") == ARTIFACTS and one.service in {None, MAIN} for one in found):
        found.insert(0, ArtifactTable(ARTIFACTS))
    return tuple(found)


def image_of(table: EnvironmentTable, context: Path) -> ContainerImage:
    """Return the image of an environment: the one that it names, else that of its build context."""
    if table.docker_image:
        return ContainerImage(table.docker_image, build_seconds=table.build_timeout_sec)
    return ContainerImage(context=context, build_seconds=table.build_timeout_sec)


def labels_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts by which results can be grouped."""
    values = {name: metadata.get(name) for name in _LABELS}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str) and 0 < len(value) <= _LONGEST_LABEL and value.isprintable()
    }


def without_canary(text: str) -> str:
    """Return an instruction without the marks at its beginning that are to keep it out of training data."""
    lines = text.split("\n")
    while lines and _CANARY.match(lines[0].strip()):
        lines.pop(0)
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines)


def text_of(path: Path) -> str:
    """Return the text of a file. Raises UsageError."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
