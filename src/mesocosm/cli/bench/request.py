"""Turn a command line into members of a group: each benchmark with its settings, or why it cannot run."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.catalogue import BenchmarkCatalogue, KnownBenchmark, UnusableFolder
from mesocosm.benchmarks.parameters import BenchmarkParameters, settle
from mesocosm.benchmarks.requirements import missing
from mesocosm.benchmarks.spec import benchmark_agent, benchmark_spec, high_score
from mesocosm.cli.limits import settled
from mesocosm.core.abilities import AsksJudge
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.group import OutcomeStatus
from mesocosm.core.model import ModelName
from mesocosm.core.registry import SOURCES, fold
from mesocosm.core.run import Limits, RunSpec
from mesocosm.engine.group import GroupMember
from mesocosm.mcp.offer import ToolOffer, offered_to
from mesocosm.models.endpoint import PROVIDERS, configured

DEFAULT_PROVIDER, DEFAULT_MODEL = "cerebras", "gemma-4-31b"
FALLBACK_URLS = ("BENCHMARK_BASE_URL", "OPENAI_BASE_URL")
"""Variables that redirect every OpenAI-compatible provider, with lower precedence than the provider's own."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """The requested work. `chosen` are the names of benchmarks; empty means all."""

    chosen: tuple[str, ...] = ()
    provider: str = ""
    model: str = ""
    base_url: str = ""
    agent: str = ""
    judge: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    max_examples: int | None = None
    trials: int | None = None
    seed: int | None = None
    temperature: float | None = None
    timeout: float | None = None
    limits: Limits = field(default_factory=Limits)
    parallel: int = 4
    cache: str = ""
    mcp: ToolOffer | None = None
    tags: tuple[str, ...] = ()
    run_name: str = ""

    @property
    def name(self) -> ModelName:
        """The requested model. Raises UsageError."""
        if not self.provider and "/" in self.model:
            return ModelName.parse(self.model)
        provider = self.provider or DEFAULT_PROVIDER
        url = f"@{self.base_url}" if self.base_url else ""
        return ModelName.parse(f"{provider}/{self.model or DEFAULT_MODEL}{url}")

    def as_document(self) -> dict[str, Any]:
        """Return the request as it is stored with the group."""
        name = self.name
        return {
            "benchmarks": list(self.chosen),
            "agent": self.agent,
            "provider": name.provider,
            "model": name.model,
            "base_url": name.base_url,
            "extra_config": dict(self.extra),
            "max_examples": self.max_examples,
            "trials": self.trials,
            "seed": self.seed,
            "temperature": self.temperature,
            **({} if self.mcp is None else {"mcp": [server.shown for server in self.mcp.servers]}),
        }


def members(request: BenchRequest, catalogue: BenchmarkCatalogue, output: Path) -> list[GroupMember]:
    """Return one member for each requested benchmark, in the order of the request.

    Raises UsageError if nothing can be run: no benchmark is known, or a parameter is unknown or wrong.
    """
    lead_elsewhere(request.name.provider)
    found, unknown = _choose(request, catalogue)
    descriptors = [known.descriptor for known in found]
    settings = settle(descriptors, _extra(request, found), catalogue.descriptors)
    listed = [_member(request, known, one, output) for known, one in zip(found, settings, strict=True)]
    return [*listed, *unknown]


def unheeded(request: BenchRequest, catalogue: BenchmarkCatalogue) -> list[str]:
    """Return warnings about parameters that some benchmarks ignore, before anything runs."""
    found, _ = _choose(request, catalogue)
    notes = []
    if request.max_examples is not None:
        notes += _lacking("--max-examples", "always runs whole", [one for one in found if not one.descriptor.sampling])
    if request.seed is not None:
        notes += _lacking("--seed", "has no seed", [one for one in found if "seed" not in one.descriptor.parameters])
    return notes


def _lacking(flag: str, why: str, found: Sequence[KnownBenchmark]) -> list[str]:
    return [f"{one.descriptor.id} {why}: {flag} does nothing there" for one in found]


def lead_elsewhere(provider: str) -> None:
    """Apply the variables for any OpenAI-compatible server to `provider`, unless its own are set."""
    if provider == "openai" or provider not in PROVIDERS or configured(provider):
        return
    url = next((value for name in FALLBACK_URLS if (value := os.environ.get(name, "").strip())), "")
    if url:
        os.environ[f"{provider.upper().replace('-', '_')}_BASE_URL"] = url


def _choose(request: BenchRequest, catalogue: BenchmarkCatalogue) -> tuple[list[KnownBenchmark], list[GroupMember]]:
    if not request.chosen:
        return list(catalogue.benchmarks), [_unusable(request, one) for one in catalogue.uncovered]
    found: dict[str, KnownBenchmark] = {}
    unknown: list[GroupMember] = []
    errors: list[UnknownName] = []
    for name in request.chosen:
        try:
            known = catalogue.find(name)
            found.setdefault(known.descriptor.id, known)
        except UnknownName as error:
            broken = next((one for one in catalogue.uncovered if fold(one.folder.name) == fold(name)), None)
            errors.append(error)
            unknown.append(_unusable(request, broken) if broken else _failed(request, name, name, str(error)))
    if errors and not found:
        raise errors[0]
    return list(found.values()), unknown


def _unusable(request: BenchRequest, uncovered: UnusableFolder) -> GroupMember:
    return _failed(request, uncovered.folder.name, uncovered.folder.name, uncovered.reason)


def _failed(request: BenchRequest, benchmark: str, directory: str, reason: str) -> GroupMember:
    name = request.name
    return GroupMember(
        benchmark,
        directory,
        provider=name.provider,
        model=name.model,
        agent=request.agent,
        status=OutcomeStatus.FAILED,
        reason=reason,
    )


def _extra(request: BenchRequest, found: Sequence[KnownBenchmark]) -> dict[str, Any]:
    """Return the extra settings combined with the flags; a flag overrides the general part of --extra."""
    extra = dict(request.extra)
    if request.max_examples is not None and any(known.descriptor.sampling for known in found):
        extra["max_examples"] = request.max_examples
    if request.seed is not None and any("seed" in known.descriptor.parameters for known in found):
        extra["seed"] = request.seed
    for name in ("trials", "temperature"):
        if getattr(request, name) is not None:
            extra[name] = getattr(request, name)
    return extra


def _member(request: BenchRequest, known: KnownBenchmark, settings: BenchmarkParameters, output: Path) -> GroupMember:
    descriptor, parameters = known.descriptor, settings.parameters
    name = _model(request, settings)
    agent = benchmark_agent(request.agent, known)
    command = descriptor.command
    member = GroupMember(
        descriptor.id,
        known.directory,
        provider=name.provider,
        model=ModelName.parse(name.shown()).model,
        agent=agent.shown,
        extra=settings.effective,
        slots=0 if command is None else command.slots,
        exclusive=frozenset(() if command is None else command.exclusive),
        seconds=request.timeout,
    )
    lacking = missing(known, parameters, os.environ)
    if lacking:
        return replace(member, reason="; ".join(lacking))
    place = output / f"{known.directory}__{descriptor.id}" if command is not None else None
    spec = benchmark_spec(
        known,
        settings,
        settled(name),
        agent=request.agent,
        limits=request.limits,
        parallel=request.parallel,
        cache=request.cache,
        tags=request.tags,
        output=place,
    )
    try:
        spec = msgspec.structs.replace(spec, agent=offered_to(spec.agent, request.mcp))
    except UsageError as error:
        return replace(member, reason=str(error))
    if request.run_name:
        spec = msgspec.structs.replace(spec, name=request.run_name)
    if request.judge and _asks_judge(spec):
        from mesocosm.api.experiments import Arguments

        spec = msgspec.structs.replace(spec, judge=Arguments(judge=request.judge).judge_settings())
    return replace(member, spec=spec, facts=_facts(known, settings, member))


def _asks_judge(spec: RunSpec) -> bool:
    """Return whether a benchmark's graders may ask a model; True for one that cannot be opened: the run says why."""
    try:
        benchmark = SOURCES.get(spec.benchmark.kind)(spec.benchmark)
    except Exception:  # noqa: BLE001 - foreign code
        return True
    return isinstance(benchmark, AsksJudge) or benchmark.info.judged


def unjudged(request: BenchRequest, members: Sequence[GroupMember]) -> list[str]:
    """Return a note for each benchmark without a judge, if one was named."""
    specs = [(member.benchmark, member.spec) for member in members if request.judge and member.spec is not None]
    return [f"{name} asks no judge: --judge does nothing there" for name, spec in specs if spec.judge is None]


def _model(request: BenchRequest, settings: BenchmarkParameters) -> ModelName:
    name = request.name
    own = f"{name.provider.replace('-', '_')}_base_url"
    url = settings.general.get(own) or settings.general.get("base_url") or name.base_url
    return ModelName(name.provider, name.model, str(url).rstrip("/"))


def _facts(known: KnownBenchmark, settings: BenchmarkParameters, member: GroupMember) -> dict[str, Any]:
    """Return the run's provenance facts."""
    descriptor = known.descriptor
    facts: dict[str, Any] = {
        "directory": known.directory,
        "provider": member.provider,
        "model": member.model,
        "extra": settings.effective,
        "unit": descriptor.score.unit,
        "cwd": str(Path.cwd()),
        **repository(Path.cwd()),
        "benchmarks_commit": commit(known.folder) if known.origin != "built-in" else None,
    }
    if best := high_score(known, settings):
        facts["high_score"] = best
    return facts


def repository(place: Path) -> dict[str, Any]:
    """Return commit and version of the code under test around `place`; None without a repository."""
    return {"eliza_commit": commit(place), "eliza_version": _package_version(place)}


def commit(place: Path) -> str | None:
    """Return the commit that is checked out around `place`, or None outside of git."""
    root = next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)
    return None if root is None else _commit(root)


@cache
def _commit(root: Path) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and a path of our own
            ["git", "-C", str(root), "rev-parse", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _package_version(place: Path) -> str | None:
    import msgspec

    try:
        package = msgspec.json.decode((place / "package.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    version = package.get("version") if isinstance(package, dict) else None
    return version if isinstance(version, str) else None


def check_chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return benchmark names from words that may hold several, separated by commas. Raises UsageError if empty."""
    found = tuple(name.strip() for word in names for name in word.split(",") if name.strip())
    if names and not found:
        raise UsageError("--benchmarks names none")
    return found
