"""The file task.toml of a Harbor task, schema 1.4 and earlier.

Field names are those of the file. Values are checked as Harbor does; what it does not know is a warning.
"""

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import PurePosixPath
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from mesocosm.core.container import NetworkMode, NetworkPolicy
from mesocosm.core.failure import UsageError

_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$")
_LABEL = re.compile(r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")
_SERVICE = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")
_STEP = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_SIZES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
MAIN = "main"
"""The service whose container the agent works in."""


class TaskAuthor(msgspec.Struct, frozen=True):
    """An author of a task."""

    name: str
    email: str | None = None


class PackageFacts(msgspec.Struct, frozen=True):
    """The table [task]: the name in a registry, `org/name`."""

    name: str
    version: str | None = None
    description: str = ""
    authors: tuple[TaskAuthor, ...] = ()
    keywords: tuple[str, ...] = ()


class HealthCheck(msgspec.Struct, frozen=True):
    """A command that succeeds once a container is ready; times are in seconds."""

    command: str
    interval_sec: float = 5.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    start_interval_sec: float = 5.0
    retries: int = 3


class McpServer(msgspec.Struct, frozen=True):
    """A tool server for the agent."""

    name: str
    transport: Literal["stdio", "sse", "streamable-http", "http"] = "sse"
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: dict[str, str] = {}


class Tpu(msgspec.Struct, frozen=True):
    """A slice of a TPU."""

    type: str
    topology: str


class EnvironmentTable(msgspec.Struct, frozen=True):
    """The table [environment], also of a verifier. `allow_internet`, `memory` and `storage` are of older schemas."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None
    build_timeout_sec: float = 600.0
    docker_image: str | None = None
    os: str = "linux"
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: Tpu | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    env: dict[str, str] = {}
    skills_dir: str | None = None
    healthcheck: HealthCheck | None = None
    workdir: str | None = None
    allow_internet: bool | None = None
    memory: str | int | float | None = None
    storage: str | int | float | None = None

    @property
    def policy(self) -> NetworkPolicy:
        """What the container may reach, unless a phase says otherwise."""
        mode = self.network_mode
        if mode is None and self.allowed_hosts is None and self.allow_internet is False:
            mode = "no-network"
        return NetworkPolicy(mode or "public", self.allowed_hosts or ())


class AgentTable(msgspec.Struct, frozen=True):
    """The table [agent]. `timeout_sec` of None is no limit."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None
    timeout_sec: float | None = None
    user: str | int | None = None

    @property
    def policy(self) -> NetworkPolicy | None:
        """What this phase may reach, None if the environment says it."""
        return None if self.network_mode is None else NetworkPolicy(self.network_mode, self.allowed_hosts or ())


class CollectTable(msgspec.Struct, frozen=True):
    """A command that runs after the agent, before artifacts are collected."""

    command: str
    service: str = MAIN
    timeout_sec: float = 60.0
    user: str | int | None = None


class VerifierTable(msgspec.Struct, frozen=True):
    """The table [verifier]."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None
    timeout_sec: float = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentTable | None = None
    collect: tuple[CollectTable, ...] = ()

    @property
    def policy(self) -> NetworkPolicy | None:
        """What this phase may reach, None if the environment says it."""
        return None if self.network_mode is None else NetworkPolicy(self.network_mode, self.allowed_hosts or ())

    @property
    def mode(self) -> Literal["shared", "separate"] | None:
        """Whether the verifier has a container of its own, None if this table does not say it."""
        return self.environment_mode or ("separate" if self.environment is not None else None)


class ArtifactTable(msgspec.Struct, frozen=True):
    """What a separate verifier gets of the agent's container."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


class StepTable(msgspec.Struct, frozen=True):
    """One step of a task with several."""

    name: str
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthCheck | None = None
    artifacts: tuple[str | ArtifactTable, ...] = ()


class SolutionTable(msgspec.Struct, frozen=True):
    """The table [solution]."""

    env: dict[str, str] = {}


class HarborConfig(msgspec.Struct, frozen=True):
    """All of task.toml."""

    schema_version: str = "1.4"
    task: PackageFacts | None = None
    metadata: dict[str, Any] = {}
    verifier: VerifierTable = VerifierTable()
    agent: AgentTable = AgentTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    source: str | None = None
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    steps: tuple[StepTable, ...] | None = None
    artifacts: tuple[str | ArtifactTable, ...] = ()


def read_config(text: str, subject: str) -> tuple[HarborConfig, list[str]]:
    """Return a task.toml and warnings about what is not known in it. Raises UsageError that names `subject`."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{subject} is no TOML: {error}") from error
    if "version" in given:
        given.setdefault("schema_version", given.pop("version"))
    for table in _environments(given):
        _renamed(table, subject)
    try:
        config = msgspec.convert(given, HarborConfig, strict=False)
        _check(config)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{subject}: {error}") from error
    unknown = list(_unknown(given, HarborConfig, ""))
    return config, [f"{subject}: the key {name} is not known and has no effect" for name in unknown]


def _environments(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    verifiers = [given, *(step for step in given.get("steps") or () if isinstance(step, dict))]
    for holder in (given.get("environment"), *(_of(one, "verifier", "environment") for one in verifiers)):
        if isinstance(holder, dict):
            yield holder


def _of(given: Any, *names: str) -> Any:
    for name in names:
        given = given.get(name) if isinstance(given, dict) else None
    return given


def _renamed(table: dict[str, Any], subject: str) -> None:
    """Give the fields of older schemas their names of today."""
    if isinstance(table.get("os"), str):
        table["os"] = table["os"].lower()
    for old in ("memory", "storage"):
        size = table.get(old)
        if not isinstance(size, str):
            continue
        unit = _SIZES.get(size.strip().upper()[-1:])
        try:
            found = int(float(size.strip()[:-1]) * unit) if unit is not None else None
        except ValueError:
            found = None
        if found is None:
            raise UsageError(f"{subject}: {old} = {size!r} is no size such as '1G' or '512M'")
        if table.setdefault(f"{old}_mb", found) != found:
            raise UsageError(f"{subject}: {old} = {size!r} and {old}_mb = {table[f'{old}_mb']} differ")


def _unknown(given: Any, kind: Any, path: str) -> Iterator[str]:
    """Yield the paths of keys that `kind`, a type, has no field for."""
    if get_origin(kind) is tuple and isinstance(given, list):
        for place, item in enumerate(given):
            yield from _unknown(item, get_args(kind)[0], f"{path}[{place}]")
        return
    structs = [one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    lists = [one for one in get_args(kind) if get_origin(one) is tuple]
    if lists and isinstance(given, list):
        yield from _unknown(given, lists[0], path)
    if not structs or not isinstance(given, dict):
        return
    fields = get_type_hints(structs[0])
    for name, value in given.items():
        where = f"{path}.{name}" if path else name
        if name in fields:
            yield from _unknown(value, fields[name], where)
        else:
            yield where


def _check(config: HarborConfig) -> None:
    """Check what types do not say. Raises ValueError."""
    if config.task is not None and (not _NAME.match(config.task.name) or ".." in config.task.name):
        raise ValueError(f"[task] name = {config.task.name!r}; it is org/name")
    tables: list[EnvironmentTable | AgentTable | VerifierTable] = [config.environment, config.agent, config.verifier]
    _check_steps(config.steps or ())
    for step in config.steps or ():
        tables += [step.agent, step.verifier]
    for table in list(tables):
        if isinstance(table, VerifierTable):
            if table.environment is not None:
                tables.append(table.environment)
                if table.environment_mode == "shared":
                    raise ValueError("[verifier] environment_mode = 'shared' has no environment of its own")
            for collected in table.collect:
                _service(collected.service)
    for table in tables:
        _check_network(table)
        if isinstance(table, EnvironmentTable):
            _check_environment(table)
    for artifact in (*config.artifacts, *(one for step in config.steps or () for one in step.artifacts)):
        _check_artifact(artifact)


def _check_steps(steps: Sequence[StepTable]) -> None:
    """Check that each step names a folder of its own on every system."""
    names: set[str] = set()
    for step in steps:
        name = step.name
        if not name.strip() or name in {".", ".."} or name.endswith((".", " ")) or _STEP.search(name):
            raise ValueError(f"steps: {name!r} is no name of a folder")
        key = unicodedata.normalize("NFC", name).casefold()
        if key in names:
            raise ValueError(f"steps: two are called {name!r}")
        names.add(key)


def _check_environment(table: EnvironmentTable) -> None:
    if table.cpus is not None and not math.isfinite(table.cpus):
        raise ValueError(f"[environment] cpus = {table.cpus}")
    if table.os not in {"linux", "windows"}:
        raise ValueError(f"[environment] os = {table.os!r}; it is linux or windows")
    for server in table.mcp_servers:
        if server.transport == "stdio" and (not server.command or server.headers):
            raise ValueError(f"[environment] the tool server {server.name} has a command, and no headers")
        if server.transport != "stdio" and not server.url:
            raise ValueError(f"[environment] the tool server {server.name} has no url")


def _check_network(table: EnvironmentTable | AgentTable | VerifierTable) -> None:
    restricted = table.network_mode == "allowlist"
    if (table.allowed_hosts and not restricted) or (
        table.allowed_hosts is not None and table.network_mode is None and not isinstance(table, EnvironmentTable)
    ):
        raise ValueError("allowed_hosts is only valid with network_mode = 'allowlist'")
    for host in table.allowed_hosts or ():
        if not _is_host(host):
            raise ValueError(f"allowed_hosts: {host!r} is no host name, address, or range of addresses")


def _is_host(host: str) -> bool:
    name = host.strip().lower().rstrip(".")
    try:
        if "/" in name:
            ip_network(name)
            return True
        if ":" in name:
            ip_address(name)
            return "%" not in name
    except ValueError:
        return False
    labels = name.removeprefix("*.").split(".")
    return bool(name) and all(map(_LABEL.match, labels))


def _service(name: str) -> None:
    if not _SERVICE.match(name.strip()):
        raise ValueError(f"{name!r} is no name of a service")


def _check_artifact(artifact: str | ArtifactTable) -> None:
    source = artifact if isinstance(artifact, str) else artifact.source
    if ".." in PurePosixPath(source).parts:
        raise ValueError(f"artifacts: {source!r} leads upwards")
    if isinstance(artifact, ArtifactTable):
        if artifact.service is not None:
            _service(artifact.service)
        target = artifact.destination
        if target and (target.startswith("/") or "\\" in target or ".." in PurePosixPath(target).parts):
            raise ValueError(f"artifacts: the destination {target!r} is no relative path")
        if target and target.rstrip("/") == "manifest.json":
            raise ValueError("artifacts: manifest.json is the list of what was collected")


def hosts(policy: NetworkPolicy) -> NetworkPolicy:
    """Return a policy with its hosts as they are compared: in lower case, without a final dot."""
    return NetworkPolicy(policy.mode, tuple(dict.fromkeys(host.strip().lower().rstrip(".") for host in policy.hosts)))
