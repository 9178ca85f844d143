"""Open the parts of a run, create its record, and check that a stored run is still the same experiment."""

import platform
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec

import mesocosm
from mesocosm.core.failure import EpisodeError, Incompatible, RunAborted, UsageError
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ReadsLogprobs
from mesocosm.core.ports import Parts
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import AGENTS, MODELS, SOURCES, TECHNIQUES, option_roles
from mesocosm.core.run import AgentSettings, BenchmarkRef, Counts, Run, RunSpec
from mesocosm.core.signature import signature
from mesocosm.core.source import reference_digest

_NAMED = 10
"""Maximum changed files to name in a message."""


class NoModel:
    """Placeholder for the model of offline benchmarks. Implements core.ports.Model."""

    def __init__(self, name: ModelName) -> None:
        self._name = name

    @property
    def capabilities(self) -> Capabilities:
        """No capabilities."""
        return Capabilities()

    async def check(self) -> None:
        """Do nothing: there is nothing to check."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Raise RunAborted: an agent that calls a model does not fit an offline benchmark."""
        del request
        what = f"this benchmark is offline and asks no model, so {self._name.shown()} was not opened"
        raise RunAborted(f"{what}; leave the agent to the benchmark")

    async def close(self) -> None:
        """Do nothing."""


def open_parts(spec: RunSpec) -> Parts:
    """Return benchmark, model, agent and judge of `spec` from the registries.

    Raises UsageError naming what cannot work. For an offline benchmark no model is opened: no key, package or server is
    needed.
    """
    benchmark = SOURCES.get(spec.benchmark.kind)(spec.benchmark)
    agent = AGENTS.get(spec.agent.name)(spec.agent.options)
    if benchmark.info.offline:
        return Parts(benchmark, NoModel(ModelName.parse(spec.model.name)), agent)
    # Opened last, because only models may hold resources before they are used.
    model = MODELS.get("*")(spec.model)
    judge = MODELS.get("*")(spec.judge) if spec.judge is not None else None
    return Parts(benchmark, model, agent, judge)


@asynccontextmanager
async def opened(spec: RunSpec) -> AsyncIterator[Parts]:
    """Open the parts of `spec`, and close them at the end. Raises as `open_parts` does."""
    async with closing(open_parts(spec)) as parts:
        yield parts


@asynccontextmanager
async def closing(parts: Parts) -> AsyncIterator[Parts]:
    """Close open parts at the end, each even if closing another fails."""
    async with AsyncExitStack() as stack:
        # The last one is closed first.
        for part in (parts.judge, parts.model, parts.benchmark):
            if part is not None:
                stack.push_async_callback(part.close)
        yield parts


def located(ref: BenchmarkRef) -> BenchmarkRef:
    """Return a reference to the same benchmark that is valid in every folder."""
    locate = option_roles(ref.kind).located
    return ref if locate is None else BenchmarkRef(ref.kind, *locate(ref.source, ref.options))


def new_run(spec: RunSpec, parts: Parts, redactor: Redactor | None = None) -> Run:
    """Return the record of a run that has not started. It can be resumed in another folder."""
    info = parts.benchmark.info
    spec = msgspec.structs.replace(spec, benchmark=located(spec.benchmark))
    command = [(redactor or Redactor()).text(word) for word in sys.argv]
    return Run(
        id=new_id(),
        signature=experiment_of(spec, parts),
        benchmark=info.id,
        benchmark_title=info.title,
        benchmark_version=info.version,
        benchmark_digest=info.digest,
        kind=info.kind,
        model=ModelName.parse(spec.model.name).shown(),
        agent=spec.agent.shown,
        spec=spec,
        name=spec.name,
        counts=Counts(planned=parts.benchmark.count(spec.selection) * spec.selection.trials),
        created_at=time.time(),
        tags=spec.tags,
        info=info.document(),
        provenance={
            **({"files": files} if (files := info.listed_files()) else {}),
            "mesocosm": mesocosm.__version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "command": command,
        },
    )


async def probe(parts: Parts) -> None:
    """Query the servers of model and judge for what they offer; ignore servers that do not answer."""
    for part in (parts.model, parts.judge):
        if part is not None:
            with suppress(UsageError, EpisodeError):
                await part.check()


async def require_logprobs(parts: Parts) -> None:
    """Raise Incompatible if the benchmark asks how probable texts are, and the model's server cannot tell.

    A server that does not answer now is taken to be able to.
    """
    info, model = parts.benchmark.info, parts.model
    if not info.logprobs:
        return
    if model.capabilities.logprobs and isinstance(model, ReadsLogprobs):
        with suppress(EpisodeError):
            await model.reads_logprobs()
    if not model.capabilities.logprobs:
        lacking = "the model does not tell how probable a given text is (POST /v1/completions with echo and logprobs)"
        raise Incompatible(info.id, [f"{lacking}; {info.logprobs}"])


def experiment_of(spec: RunSpec, parts: Parts) -> str:
    """Return the signature of the experiment that `spec` describes: only runs with equal signatures can be merged."""
    info, content = parts.benchmark.info, parts.model.capabilities.content
    # Inputs that the digest does not cover make it another experiment of the same benchmark.
    covered = digest([info.digest, info.inputs]) if info.inputs else info.digest
    return signature(spec, info.id, covered, content, _agent_content(spec.agent))


def _agent_content(settings: AgentSettings) -> str:
    """Return the digest of the code that the agent and its techniques refer to, empty if all of it is installed."""
    techniques = settings.options.get("techniques")
    chosen = techniques.items() if isinstance(techniques, Mapping) else ()
    named = [(AGENTS, settings.name), *((TECHNIQUES, str(name)) for name, params in chosen if params is not False)]
    found = [reference_digest(name, registry.get(name)) for registry, name in named if ":" in name]
    return found[0] if len(found) == 1 else digest(found) if found else ""


def same_experiment(record: Run, parts: Parts) -> None:
    """Raise UsageError if a run cannot be resumed because its content or scoring has changed, naming the changes."""
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
        # The spec is the stored one, so only the content of a file that it names can have changed.
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
    """Yield which files of a benchmark were changed, added or removed, if both lists are known."""
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
