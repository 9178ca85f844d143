"""What makes two sessions the same experiment, and what has changed where they are not."""

from collections.abc import Iterator, Mapping

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Parts
from mesocosm.core.registry import AGENTS, TECHNIQUES
from mesocosm.core.run import AgentSettings, Run, RunSpec
from mesocosm.core.signature import signature
from mesocosm.core.source import reference_digest

_NAMED = 10
"""Changed files that a message names."""


def experiment_of(spec: RunSpec, parts: Parts) -> str:
    """Return the signature of the experiment that `spec` describes: runs that have it in common may be one run."""
    info, content = parts.benchmark.info, parts.model.capabilities.content
    # What is among the inputs and not in the digest makes another experiment of the same benchmark.
    covered = digest([info.digest, info.inputs]) if info.inputs else info.digest
    return signature(spec, info.id, covered, content, _agent_content(spec.agent))


def _agent_content(settings: AgentSettings) -> str:
    """Return the digest of the code that the agent and its techniques name, empty where all of it is installed."""
    techniques = settings.options.get("techniques")
    chosen = techniques.items() if isinstance(techniques, Mapping) else ()
    named = [(AGENTS, settings.name), *((TECHNIQUES, str(name)) for name, params in chosen if params is not False)]
    found = [reference_digest(name, registry.get(name)) for registry, name in named if ":" in name]
    return found[0] if len(found) == 1 else digest(found) if found else ""


def same_experiment(record: Run, parts: Parts) -> None:
    """Raise UsageError where a run cannot go on because what it was started with has changed, naming what did."""
    info = parts.benchmark.info
    if record.regraded:
        raise UsageError(
            f"run {record.id} cannot go on, it would mix two scorings: it was rescored with {record.regraded}. "
            f"Score it by its own rules again (mesocosm run rescore {record.id}), or start a new run."
        )
    if experiment_of(record.spec, parts) == record.signature:
        return
    changes = [
        f"the {what} was {before}, is {now}"
        for what, before, now in (
            ("benchmark", record.benchmark, info.id),
            ("version", record.benchmark_version, info.version),
            ("content digest", record.benchmark_digest, info.digest),
        )
        if before != now
    ]
    before, now = record.info.get("inputs", {}), info.inputs
    named = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if named:
        changes = [f"changed since: {', '.join(named)}"]
    elif record.benchmark_digest != info.digest:
        changes += _changed_files(record.provenance.get("files", {}), info.listed_files())
    if not changes:
        # The spec is the stored one, so what is left is the content of a file that it names.
        of_agent = _agent_content(record.spec.agent)
        changes = [f"the code of agent {record.spec.agent.name} or of its techniques has changed"] if of_agent else []
        if parts.model.capabilities.content:
            changes.append(f"what {record.model} answers from has changed")
        changes = [" or ".join(changes)]
    raise UsageError(
        f"run {record.id} cannot go on, it would mix two experiments: {'; '.join(changes)}. "
        "Bring the old content back, or start a new run."
    )


def _changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Say which files of a benchmark were changed, added or removed where both lists are known."""
    if not before or not now:
        return
    if before == now:
        yield "all of its files are the same, what its manifest declares is not"
    for what, names in (
        ("changed", [name for name in now if before.get(name, now[name]) != now[name]]),
        ("added", [name for name in now if name not in before]),
        ("removed", [name for name in before if name not in now]),
    ):
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{what}: {', '.join(names[:_NAMED])}{more}"
