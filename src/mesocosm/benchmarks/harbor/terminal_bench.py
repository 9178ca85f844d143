"""Task folders of Terminal-Bench 1, read as Harbor maps them: `task.yaml`, `solution.sh`, `run-tests.sh`, `tests/`."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.harbor.config import AgentTable, EnvironmentTable, HarborConfig, VerifierTable
from mesocosm.benchmarks.harbor.folder import BENCH_CONFIG, Phase, TaskFolder, labels_of, text_of, without_canary
from mesocosm.core.container import ContainerImage
from mesocosm.core.failure import UsageError
from mesocosm.sandboxes.containers.content import folder_digest

COMPOSE = "docker-compose.yaml"
_OWN = frozenset({BENCH_CONFIG, "solution.sh", "solution.yaml", "run-tests.sh", "tests", COMPOSE})
_NOT_COLLAPSED = frozenset(
    {"build", "image", "container_name", "command", "volumes", "environment", "working_dir", "expose", "platform"}
)
_VOLUMES = frozenset(
    {
        "${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}",
        "${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}",
    }
)
_REWARD = """
_EXIT_CODE=$?
if [ $_EXIT_CODE -eq 0 ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
exit $_EXIT_CODE
"""


class BenchTask(msgspec.Struct, frozen=True):
    """The file task.yaml; times are in seconds."""

    instruction: str
    author_name: str = "unknown"
    author_email: str = "unknown"
    difficulty: str = "unknown"
    category: str = "software_engineering"
    tags: tuple[str, ...] = ()
    parser_name: str = "pytest"
    max_agent_timeout_sec: float = 360.0
    max_test_timeout_sec: float = 60.0
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False
    estimated_duration_sec: float | None = None
    expert_time_estimate_min: float | None = None
    junior_time_estimate_min: float | None = None


def read_bench_folder(folder: Path) -> TaskFolder:
    """Return a task. Raises UsageError with the file that cannot be read, or if PyYAML is not installed."""
    place = folder / BENCH_CONFIG
    given = _yaml(place)
    try:
        task = msgspec.convert(given, BenchTask, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {error}") from error
    unknown = sorted(given.keys() - set(BenchTask.__struct_fields__))
    compose = _yaml(folder / COMPOSE) if (folder / COMPOSE).is_file() else {}
    service, refused = _service(compose)
    if (folder / "solution.yaml").is_file() and not (folder / "solution.sh").is_file():
        refused.append("its solution is a script of keys (solution.yaml)")
    if task.run_tests_in_same_shell:
        refused.append("its tests run in the shell of the agent (run_tests_in_same_shell)")
    if task.parser_name != "pytest":
        refused.append(f"its results are read by the parser {task.parser_name}; only exit codes of pytest are")
    metadata = {
        name: value for name, value in msgspec.to_builtins(task).items() if name in _METADATA and value is not None
    }
    config = HarborConfig(
        metadata=metadata,
        verifier=VerifierTable(timeout_sec=task.max_test_timeout_sec),
        agent=AgentTable(timeout_sec=task.max_agent_timeout_sec),
        environment=EnvironmentTable(workdir=_workdir(service)),
    )
    instruction = task.instruction if task.instruction.endswith("\n") else f"{task.instruction}\n"
    script = text_of(folder / "run-tests.sh")
    phase = Phase(
        "",
        without_canary(instruction),
        config.agent,
        config.verifier,
        tests=(folder / "tests",) if (folder / "tests").is_dir() else (),
        script=_with_reward(script),
        solution=folder if (folder / "solution.sh").is_file() else None,
        solve="solution.sh",
    )
    return TaskFolder(
        id=folder.name,
        folder=folder,
        digest=folder_digest(folder),
        config=config,
        phases=(phase,),
        image=ContainerImage(context=folder / _context(service)),
        env={"TEST_DIR": "/tests", **_environment(service)},
        labels=labels_of(metadata),
        refused=tuple(refused),
        warnings=tuple(f"{place}: the key {name} is not known and has no effect" for name in unknown),
    )


_METADATA = frozenset(
    {
        *("author_name", "author_email", "difficulty", "category", "tags"),
        *("estimated_duration_sec", "expert_time_estimate_min", "junior_time_estimate_min"),
    }
)


def _with_reward(script: str) -> str:
    ended = script if script.endswith("\n") else f"{script}\n"
    return f"{ended}{_REWARD}".replace("$TEST_DIR", "/tests")


def staged_context(task: TaskFolder, place: Path) -> Path:
    """Copy the build context of a task to `place`, without its solution and its tests; return it.

    Both stay if the Dockerfile copies them by name, as Harbor does. Raises UsageError for a file that cannot be read.
    """
    source = task.image.context
    assert source is not None
    dockerfile = text_of(source / "Dockerfile")
    kept = {
        name for name in ("tests", "solution.sh") if re.search(rf"^(COPY|ADD)\s.*\b{name}\b", dockerfile, re.MULTILINE)
    }

    def left_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name in _OWN - kept] if Path(folder) == task.folder else []

    shutil.copytree(source, place, ignore=left_out, symlinks=True)
    return place


def _service(compose: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
    """Return the service that the agent works in, and what of the file nobody here can follow."""
    services = compose.get("services") or {}
    if not services:
        return {}, []
    name = "client" if "client" in services else next(iter(services))
    service = services[name] or {}
    refused = []
    if len(services) > 1:
        refused.append(f"{COMPOSE} starts {len(services)} services")
    if more := sorted((compose.keys() - {"services", "version"}) | (service.keys() - _NOT_COLLAPSED)):
        refused.append(f"{COMPOSE} says {', '.join(more)}, which is not followed")
    if set(map(str, service.get("volumes") or ())) - _VOLUMES:
        refused.append(f"{COMPOSE} mounts volumes of its own")
    return service, refused


def _workdir(service: Mapping[str, Any]) -> str | None:
    given = service.get("working_dir")
    return str(given) if given and "${" not in str(given) else None


def _context(service: Mapping[str, Any]) -> str:
    build = service.get("build") or "."
    return str(build.get("context", ".")) if isinstance(build, Mapping) else str(build)


def _environment(service: Mapping[str, Any]) -> dict[str, str]:
    given = service.get("environment") or ()
    pairs = given.items() if isinstance(given, Mapping) else (str(one).partition("=")[::2] for one in given)
    return {str(name): str(value) for name, value in pairs if "${T_BENCH" not in str(value)}


def _yaml(place: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise UsageError(f"{place} is YAML, which needs PyYAML: pip install pyyaml") from error
    try:
        found = yaml.safe_load(text_of(place))
    except yaml.YAMLError as error:
        raise UsageError(f"{place} is no YAML: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{place} is no mapping of keys")
    return found
