"""What a call of `evaluate` describes: recognise what is evaluated, and make the experiment of it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mesocosm.api.answering import AgentFunction, AnsweringAgent, GivenAgent, function_agent
from mesocosm.api.definitions import UNLIMITED, Benchmark, Limits, made_benchmark
from mesocosm.api.grading import BoundGrader, GraderLike, bind
from mesocosm.api.prompts import Prompt, PromptLike
from mesocosm.api.row_benchmark import KIND, RowBenchmark
from mesocosm.api.rows import TaskRows, read_rows
from mesocosm.api.running import Work, limits_checked
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import MAX_TOKENS, ModelName, ModelSettings
from mesocosm.core.ports import Agent, Model, Parts
from mesocosm.core.ports import Benchmark as BenchmarkPort
from mesocosm.core.reading import nearest
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.core.registry import AGENTS, MODELS, SOURCES, fold, option_roles
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.core.secret import is_secret
from mesocosm.datasets.opening import is_hub_id
from mesocosm.datasets.reading import format_of
from mesocosm.engine.opening import NoModel, open_parts
from mesocosm.http.target import visible
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.offer import ToolOffer, offered_to

T = TypeVar("T")
Source = Any
"""A name, a path, rows, a frame, an environment class, a Benchmark."""

TEMPERATURE = 0.0
"""What a model is asked with if neither the call nor the benchmark says; MAX_TOKENS is the limit of its reply."""
PARALLEL = 16
"""Rows in flight by default. A local model that answers one call at a time slows every call with each further row."""
SEEDS = 20
"""Episodes of an environment that has no tasks of its own."""
NO_MODEL = "–"
_OWN_KINDS = frozenset({"environment", "python", "benchmark", "rollout", "hosted", "scan", "pairwise", "fork", KIND})


@dataclass(frozen=True)
class Arguments:
    """The arguments of `evaluate`, by their names."""

    model: str | None = None
    prompt: PromptLike | None = None
    system: str = ""
    expected: str | None = None
    grader: GraderLike | Sequence[GraderLike] | Mapping[str, GraderLike] | None = None
    agent: str | AgentFunction | type | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    only: Sequence[int | str] | None = None
    trials: int | None = None
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    judge: str | None = None
    parallel: int | None = None
    timeout: float | None = None
    limits: Limits = UNLIMITED
    name: str = ""
    tags: Sequence[str] = ()
    mcp: Sequence[str | Mapping[str, Any]] = ()
    mcp_options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise UsageError for values that cannot be meant."""
        limits_checked(vars(self))
        for name, (kinds, said) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise UsageError(f"{name}={value!r:.80} cannot work; it is {said}")
        if isinstance(self.prompt, Sequence) and not isinstance(self.prompt, str):
            wrong = next((one for one in self.prompt if not isinstance(one, Mapping)), None)
            if wrong is not None:
                raise UsageError(f"prompt= holds {wrong!r:.80}; a message is a dict with role and content")
        if self.temperature is not None and not self.temperature >= 0:
            raise UsageError(f"temperature={self.temperature!r} cannot work; it is a number from 0")
        if isinstance(self.tags, str) or any(not isinstance(tag, str) for tag in self.tags):
            raise UsageError(f"tags={self.tags!r:.80} cannot work; it is a list of words")
        texts = {str(name): value for name, value in self.model_args.items() if isinstance(value, str)}
        secret = next((name for name, value in texts.items() if is_secret(name, value)), None)
        if secret is not None or Redactor(secret_values(os.environ)).value(dict(self.model_args)) != self.model_args:
            raise UsageError(
                f"model_args= holds a credential{f' ({secret})' if secret else ''}, and settings are stored with the "
                "results; a model takes its key from the environment"
            )
        self._check_only()

    def offer(self) -> ToolOffer | None:
        """Ask the MCP servers which tools they offer, and return that; None without servers. Raises UsageError."""
        from mesocosm.mcp.offer import pin

        if not self.mcp:
            if self.mcp_options:
                raise UsageError("mcp_options= is for the servers in mcp=, and there are none")
            return None
        unknown = sorted(set(self.mcp_options) - {"rounds", "timeout", "characters"})
        if unknown:
            raise UsageError(f"mcp_options= has no {unknown[0]!r}; it has rounds, timeout and characters")
        return pin(mcp_addresses(self.mcp), **self.mcp_options)

    def _check_only(self) -> None:
        if self.only is None:
            return
        if isinstance(self.only, str):
            raise UsageError(f"only={self.only!r:.80} is a text; pass a list of numbers or ids")
        if not self.only:
            raise UsageError("only= is empty; leave it out to run everything")
        if self.limit is not None:
            raise UsageError("limit= and only= both choose what is run; pass one of them")
        wrong = next((one for one in self.only if not isinstance(one, int | str) or isinstance(one, bool)), None)
        if wrong is not None:
            raise UsageError(f"only= holds {wrong!r:.80}; rows go by number or id, and seeds by number")

    def model_settings(
        self, name: str, temperature: float = TEMPERATURE, max_tokens: int = MAX_TOKENS
    ) -> ModelSettings:
        """Return the settings of a model, with what the benchmark declares where the call says nothing."""
        return ModelSettings(
            name,
            temperature=temperature if self.temperature is None else self.temperature,
            max_tokens=max_tokens if self.max_tokens is None else self.max_tokens,
            extra=dict(self.model_args),
        )

    def judge_settings(self) -> ModelSettings | None:
        """Return the settings of the judge, None if it is the run's model."""
        return None if self.judge is None else ModelSettings(settled_model(self.judge), 0.0, MAX_TOKENS)

    def spec(self, ref: BenchmarkRef, model: ModelSettings, agent: AgentSettings, **more: Any) -> RunSpec:
        """Return the spec of the run."""
        fields: dict[str, Any] = {
            "selection": Selection(None, self.limit, self.trials or 1),
            "limits": self.limits.stored(),
            "parallel": self.parallel or PARALLEL,
            "name": _shown(self.name),
            "tags": tuple(map(_shown, self.tags)),
            "judge": self.judge_settings(),
        }
        return RunSpec(ref, model, agent, **{**fields, **more})


_TEXT, _MAYBE = (str, "a text"), (str, type(None))
_KINDS: dict[str, tuple[Any, str]] = {
    "model": (_MAYBE, 'the name of one model, like "openai/gpt-5-mini"; mc.sweep takes a list of them'),
    "judge": (_MAYBE, 'a name like "openai/gpt-5-mini"'),
    "prompt": (
        (str, list, tuple, Callable, type(None)),
        "a text with {column}, a list of messages, or a function of a row",
    ),
    "system": _TEXT,
    "expected": (_MAYBE, "the name of a column"),
    "name": _TEXT,
    "seed": ((int, type(None)), "a whole number"),
    "temperature": ((int, float, type(None)), "a number from 0"),
    "params": ((Mapping, type(None)), "a mapping from name to value"),
    "model_args": (Mapping, "a mapping from name to value"),
    "limits": (Limits, "mesocosm.Limits(…)"),
    "only": ((Sequence, range, type(None)), "a list of numbers or ids"),
    "tags": (Sequence, "a list of words"),
    "mcp": ((list, tuple), 'a list of servers, each "stdio:COMMAND" or a URL'),
    "mcp_options": (Mapping, "a mapping from name to value"),
}
"""What arguments are, and the words for it: a value of another kind would make a record that cannot be read again."""


def mcp_addresses(given: Sequence[str | Mapping[str, Any]]) -> list[ServerAddress]:
    """Return the MCP servers of a call: texts, or mappings with server, headers and env. Raises UsageError."""
    found = []
    for one in given:
        try:
            address = msgspec.convert({"server": one} if isinstance(one, str) else dict(one), ServerAddress)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise UsageError(f'mcp= holds no server: {error}; write "stdio:COMMAND" or a URL') from error
        address.check()
        found.append(address)
    return found


def _shown(value: T) -> T:
    """Return a value without the keys of the environment, for the record of a run."""
    return Redactor(secret_values(os.environ)).value(value)


def work_for(what: Source, given: Arguments, call: str = "") -> Work:
    """Return the experiment that a call describes. Raises UsageError, UnknownName, InvalidInput, Incompatible."""
    given.check()
    for recognise in (_defined, _environment_class, _named):
        work = recognise(what, given)
        if work is not None:
            return replace(work, call=call)
    return replace(_rows_work(what, given), call=call)


def chosen_model(given: Arguments) -> str:
    """Return the model of a call, else that of `MESOCOSM_MODEL`. Raises UsageError if there is none."""
    name = given.model or os.environ.get("MESOCOSM_MODEL", "")
    if not name:
        raise UsageError(which_model())
    return settled_model(name)


def settled_model(name: str) -> str:
    """Return the full name of a model. Raises UsageError for what is none, and what MESOCOSM_LOCAL_ONLY refuses."""
    from mesocosm.models.catalogue import is_local

    parsed = ModelName.parse(name)
    if os.environ.get("MESOCOSM_LOCAL_ONLY", "") not in {"", "0"} and not is_local(parsed):
        raise UsageError(f"{name} is not on this machine, and MESOCOSM_LOCAL_ONLY is set")
    return parsed.resolved()


def which_model() -> str:
    """Return the message for a call without a model: what this machine has."""
    keys = {
        "openai": "OPENAI_API_KEY",
        "anthropic": "ANTHROPIC_API_KEY",
        "google": "GEMINI_API_KEY",
        "openrouter": "OPENROUTER_API_KEY",
        "groq": "GROQ_API_KEY",
    }
    lines = [f"  {provider + '/…':<23} {name} is set" for provider, name in keys.items() if os.environ.get(name)]
    lines += [
        "  ollama/NAME             a model of Ollama on this machine",
        "  openai/NAME@URL         any server with an OpenAI-compatible API",
        "  replay/FILE.jsonl       recorded answers",
        "  builtin/oracle, builtin/empty   ceiling and floor, no model needed",
    ]
    return "\n".join(['which model? Name one: model="provider/name", or set MESOCOSM_MODEL. Here you have', *lines])


# Rows


def _defined(what: Any, given: Arguments) -> Work | None:
    if isinstance(what, str) and "@" in what and what.partition("@")[0].endswith(".py") and not _of_source(what):
        from mesocosm.core.registry import import_reference

        place, _, name = what.partition("@")
        if not Path(place).is_file():
            raise UsageError(f"there is no file {place}")
        what = made_benchmark(import_reference(f"{Path(place).resolve()}:{name}"), given.params, what)
    elif getattr(what, "__mesocosm_benchmark__", False):
        what = made_benchmark(what, given.params, getattr(what, "__name__", "the benchmark"))
    if not isinstance(what, Benchmark):
        return None
    filled = replace(
        given,
        prompt=what.prompt if given.prompt is None else given.prompt,
        system=given.system or what.system,
        expected=what.expected if given.expected is None else given.expected,
        grader=what.grader if given.grader is None else given.grader,
        agent=what.agent if given.agent is None else given.agent,
        params={},
    )
    return _rows_work(what.data, filled, what)


def _rows_work(what: Any, given: Arguments, defined: Benchmark | None = None) -> Work:
    if given.params:
        raise UsageError(f"rows have no parameters, and params= has {', '.join(given.params)}")
    prompt = Prompt(given.prompt, given.system)
    rows = read_rows(what, name=defined.name if defined is not None else "", expected=given.expected)
    prompt.check(rows.columns, rows.expected, rows.name)
    graders = bind(given.grader)
    agent = None if given.agent is None else function_agent(given.agent)
    if agent is None and prompt.given is None:
        raise _unasked(rows)
    return _answered_work(rows, given, prompt, graders, agent, defined)


def _unasked(rows: TaskRows) -> UsageError:
    first = next((name for name in ("question", "prompt", "input", "text") if name in rows.columns), rows.columns[0])
    return UsageError(
        f'how are the rows of {rows.name} asked? Pass prompt="{{{first}}}", or agent= a function; their columns are '
        f"{', '.join(rows.columns)}"
    )


def _answered_work(
    rows: TaskRows,
    given: Arguments,
    prompt: Prompt,
    graders: Sequence[BoundGrader],
    agent: GivenAgent | None,
    defined: Benchmark | None,
) -> Work:
    judged = any(grader.asks for grader in graders)
    alone = agent is not None and not agent.recorded and given.model is None and not os.environ.get("MESOCOSM_MODEL")
    if alone and judged and given.judge is None:
        raise UsageError("a grader asks a judge, and there is no model; name one with judge= or model=")
    name = "builtin/empty" if alone else chosen_model(given)
    settings = given.model_settings(name)
    inputs = {"prompt": digest(prompt.document()), "agent": digest(agent.identity if agent is not None else "model")}
    options: dict[str, Any] = {
        "prompt": given.prompt if not callable(given.prompt) else getattr(given.prompt, "__qualname__", "function"),
        "system": given.system,
        "expected": rows.expected,
        "graders": [grader.reference or grader.name for grader in graders],
    }
    # They are for readers: what is asked is in `prompt`, and counts by its digest.
    options = _shown({key: value for key, value in options.items() if value})
    if agent is not None and given.mcp:
        raise UsageError("mcp= gives a model tools; an agent that is a function calls its own")
    offer = given.offer()
    called = (
        offered_to(AgentSettings("chat"), offer)
        if agent is None
        else AgentSettings(
            "function", {"name": agent.name, **({"timeout": given.timeout} if given.timeout else {})}, agent.name
        )
    )
    if given.seed is not None:
        settings = msgspec.structs.replace(settings, extra={**settings.extra, "seed": given.seed})
    spec = given.spec(BenchmarkRef(KIND, rows.name, options), settings, called)
    if agent is None and given.timeout is not None:
        settings = msgspec.structs.replace(settings, timeout_s=given.timeout)
        spec = msgspec.structs.replace(spec, model=settings)
    benchmark = RowBenchmark(
        rows,
        graders,
        inputs=inputs,
        metrics=defined.metrics if defined is not None else (),
        only=given.only or (),
        version=defined.version if defined is not None else "1",
        card=defined.card() if defined is not None else None,
        asks_model=not (alone and not judged),
        scored_by_agent=agent is not None,
    )
    answering = AnsweringAgent(
        prompt, agent.function if agent is not None else None, None if agent is None else given.timeout, offer=offer
    )

    def parts(spec: RunSpec) -> Parts:
        model: Model = NoModel(ModelName.parse(spec.model.name)) if benchmark.info.offline else _model(spec.model)
        return Parts(benchmark, model, answering, None if spec.judge is None else _model(spec.judge))

    def answers(content: str) -> str:
        return digest([spec.model.identity(content), inputs, called.options])

    notes = list(rows.notes)
    if agent is not None:
        notes += [f"{one} counts only by its type: a change inside of it is not noticed" for one in agent.unread]
        if not agent.recorded:
            notes.append("model calls of the agent are not recorded: it takes no ctx")
    notes += [
        f"{one} counts only by its type: a change inside of it is not noticed"
        for grader in graders
        for one in grader.unread
    ]
    return Work(spec, parts, NO_MODEL if alone else None, answers, tuple(notes))


def _model(settings: ModelSettings) -> Model:
    opened: Model = MODELS.get("*")(settings)
    return opened


# Environments and benchmarks


def _environment_class(what: Any, given: Arguments) -> Work | None:
    from mesocosm.environments.sdk import BaseEnv

    if isinstance(what, BaseEnv):
        raise UsageError(f"pass the class {type(what).__name__}, not an instance: each episode gets one of its own")
    if not (
        isinstance(what, type) and callable(getattr(what, "reset", None)) and callable(getattr(what, "step", None))
    ):
        return None
    from mesocosm.environments.inprocess import ClassBenchmark

    _no_rows_arguments(given, f"the environment {what.__name__}")
    benchmark = ClassBenchmark(what)
    module = "" if what.__module__ == "__main__" else f"{what.__module__}:"
    return _played(BenchmarkRef("python", f"{module}{what.__qualname__}"), given, benchmark)


def _named(what: Any, given: Arguments) -> Work | None:
    if not isinstance(what, str | Path):
        return None
    text = os.fspath(what)
    path = Path(text)
    if text.startswith(("http://", "https://")):
        return _served(text, given)
    if ".py:" in text or (":" in text and _importable(text)):
        place, _, name = text.rpartition(":")
        full = f"{Path(place).resolve()}:{name}" if place.endswith(".py") else text
        return _played(BenchmarkRef("python", full), given)
    scheme, _, rest = text.partition(":")
    if rest and not path.exists() and scheme.replace("-", "_").isidentifier() and scheme != "hf":
        return _sourced(scheme, rest, given)
    if path.suffix == ".toml" and (path.is_file() or "/" in text):
        return _configured(path, given)
    if path.is_dir():
        return _folder(path, given)
    if format_of(path) or path.is_file() or text.startswith("hf:"):
        if not path.exists() and not text.startswith("hf:"):
            raise UsageError(f"{text}: there is no such file")
        return None
    if "/" in text or text.startswith("."):
        hub = f"; for a dataset of the Hugging Face hub write hf:{text}" if is_hub_id(text) else ""
        raise UsageError(f"{text}: there is no such file or folder{hub}")
    return _benchmark(text, given)


def installed_sources() -> dict[str, str]:
    """Return what may stand before the colon in `gym:Taxi-v3`: the names of sources by their folded form."""
    return {fold(entry.name): entry.name for entry in SOURCES.entries() if entry.name not in _OWN_KINDS}


def _of_source(what: str) -> bool:
    return (
        ":" in what
        and not Path(what.partition("@")[0]).exists()
        and fold(what.partition(":")[0]) in installed_sources()
    )


def _sourced(scheme: str, name: str, given: Arguments) -> Work:
    """Return the work for what a source has by a name. Raises UnknownName if no package brings the source."""
    installed = installed_sources()
    found = installed.get(fold(scheme))
    if found is None:
        known = sorted({"hf", *installed.values()})
        near = nearest(scheme, known)
        hint = f"; did you mean {near}:{name}?" if near else f"; installed are {', '.join(known)}."
        raise UnknownName(
            f"no source is called {scheme!r}{hint} A source comes with a package that has {scheme!r} among its entry "
            "points mesocosm.sources: install it beside mesocosm; `mesocosm plugins` lists what is found"
        )
    options, agent = _agent_option(found, given.params, given.agent)
    return _played(BenchmarkRef(found, name, options), replace(given, params={}, agent=agent))


def _agent_option(kind: str, params: Mapping[str, Any], agent: Any) -> tuple[dict[str, Any], Any]:
    """Return the options of a source, and the agent of the engine: one of the source's own is an option."""
    options, own = dict(params), option_roles(kind).agent
    if not own or not isinstance(agent, str) or agent in {entry.name for entry in AGENTS.entries()}:
        return options, agent
    return {own: agent, **options}, None


def asks_no_model(what: str, params: Mapping[str, Any], agent: str | None = None) -> bool:
    """Return whether `what` is a source, `SCHEME:NAME`, whose benchmark asks no model. Raises UsageError."""
    scheme, _, name = what.partition(":")
    found = installed_sources().get(fold(scheme))
    if found is None or not name:
        return False
    options, _ = _agent_option(found, params, agent)
    opened: BenchmarkPort = SOURCES.get(found)(BenchmarkRef(found, name, options))
    return opened.info.offline


def _importable(text: str) -> bool:
    module, _, name = text.partition(":")
    return "." in module and name[:1].isupper() and module.replace(".", "").replace("_", "").isalnum()


def _no_rows_arguments(given: Arguments, what: str) -> None:
    for name, value in (("prompt", given.prompt), ("expected", given.expected), ("grader", given.grader)):
        if value is not None:
            raise UsageError(f"{what} asks and scores by itself; {name}= is for rows")
    if callable(given.agent):
        raise UsageError(f"{what} takes the name of an installed agent; a function is an agent for rows")


def _folder(path: Path, given: Arguments) -> Work | None:
    from mesocosm.benchmarks.descriptor import FILE
    from mesocosm.environments.manifest import MANIFEST_NAME, PLACES

    if any((path / place / MANIFEST_NAME).is_file() for place in PLACES):
        from mesocosm.environments.manifest import find_manifest

        manifest = find_manifest(path)
        _no_rows_arguments(given, f"the environment in {path}")
        return _played(
            BenchmarkRef("environment", str(manifest.resolve()), dict(given.params)), replace(given, params={})
        )
    if (path / FILE).is_file():
        return _benchmark(path.resolve().name, given, path)
    return None


def _served(url: str, given: Arguments) -> Work:
    """Return the work for the environment of a server. Its parameter `manifest` is the file with its contract."""
    from mesocosm.environments.manifest import load_manifest

    unknown = [name for name in given.params if name != "manifest"]
    if unknown:
        raise UsageError(f"{visible(url)} has no parameter {unknown[0]!r}; it has manifest, a benchanything.json")
    options: dict[str, Any] = {}
    if "manifest" in given.params:
        manifest = load_manifest(Path(os.fspath(given.params["manifest"])))
        options = {"domain": {**manifest.raw, "id": manifest.id}}
    elif given.parallel is None:
        # Nothing says that it keeps several episodes apart.
        given = replace(given, parallel=1)
    work = _played(BenchmarkRef("environment", url.rstrip("/"), options), replace(given, params={}))
    note = "the code of the server is not known: after a change of it, start over (fresh=True, --fresh)"
    return replace(work, notes=(*work.notes, note))


def _played(ref: BenchmarkRef, given: Arguments, benchmark: BenchmarkPort | None = None) -> Work:
    """Return the work for an environment: it plays seeds, or its own tasks."""
    from mesocosm.agents.options import USUAL

    _no_rows_arguments(given, ref.source)
    if given.params:
        raise UsageError(f"{ref.source} has no parameters, and params= has {', '.join(given.params)}")
    opened = benchmark if benchmark is not None else SOURCES.get(ref.kind)(ref)
    info = opened.info
    alone = info.offline and given.model is None
    called = "builtin/empty" if alone else chosen_model(given)
    model = given.model_settings(called, max_tokens=info.max_tokens or MAX_TOKENS)
    own = info.agent or "loop"
    name = given.agent if isinstance(given.agent, str) else own
    # The options that `run local` records too, so that its run is the same experiment.
    options = dict(USUAL) if (name, ref.kind) == ("loop", "environment") else {}
    if given.system:
        options["system_prompt"] = given.system
    label = "" if isinstance(given.agent, str) else info.agent_label
    agent = offered_to(AgentSettings(name, options, label), given.offer())
    only = _seeds(given)
    count = given.limit
    own_tasks = own != "loop" or opened.count(Selection()) != _default_seeds()
    if count is None and only is None and not own_tasks:
        count = SEEDS
    limits = given.limits.stored()
    if given.timeout is not None:
        limits = msgspec.structs.replace(limits, episode_seconds=given.timeout)
    spec = given.spec(
        ref,
        model,
        agent,
        selection=Selection(only, None if only else count, given.trials or info.trials),
        limits=limits,
    )

    def parts(spec: RunSpec) -> Parts:
        made: Agent = AGENTS.get(spec.agent.name)(spec.agent.options)
        return Parts(opened, _model(spec.model), made, None if spec.judge is None else _model(spec.judge))

    own_trials = f"{info.trials} trials of each task, as its author sets them; trials= (--trials) sets others"
    notes = (own_trials,) if given.trials is None and info.trials > 1 else ()
    return Work(spec, parts, notes=notes, named=benchmark is None)


def _default_seeds() -> int:
    from mesocosm.environments.seeds import EPISODES

    return EPISODES


def _seeds(given: Arguments) -> tuple[int, ...] | None:
    if given.only is None:
        return None
    wrong = next((one for one in given.only if not isinstance(one, int)), None)
    if wrong is not None:
        raise UsageError(f"only={wrong!r}: seeds are whole numbers")
    return tuple(int(one) for one in given.only)


def _benchmark(name: str, given: Arguments, folder: Path | None = None) -> Work:
    """Return the work for a benchmark by name. Raises UnknownName with the nearest one."""
    from mesocosm.benchmarks.catalogue import read_catalogue
    from mesocosm.benchmarks.parameters import settle
    from mesocosm.benchmarks.requirements import missing
    from mesocosm.benchmarks.spec import benchmark_spec

    catalogue = read_catalogue([folder] if folder is not None else [])
    try:
        known = (
            next(one for one in catalogue.benchmarks if one.folder.resolve() == folder.resolve())
            if folder is not None
            else catalogue.find(name)
        )
    except UnknownName as error:
        raise UnknownName(f"{error}; for a file or folder write ./{name}") from None
    _no_rows_arguments(given, f"benchmark {known.descriptor.id}")
    sampling = known.descriptor.sampling
    extra = dict(given.params)
    if given.limit is not None and sampling:
        extra[sampling] = given.limit
    if given.seed is not None and "seed" in known.descriptor.parameters:
        extra.setdefault("seed", given.seed)
    (settings,) = settle([known.descriptor], extra, catalogue.descriptors)
    lacking = missing(known, settings.parameters, os.environ)
    if lacking:
        from mesocosm.core.failure import Incompatible

        raise Incompatible(known.descriptor.id, lacking)
    label = given.agent if isinstance(given.agent, str) else ""
    output = None
    if known.descriptor.command is not None:
        from mesocosm.core.ids import new_id

        output = Path("benchmark_results") / "programs" / new_id()
    spec = benchmark_spec(known, settings, chosen_model(given), agent=label, output=output)
    spec = msgspec.structs.replace(spec, agent=offered_to(spec.agent, given.offer()))
    model = given.model_settings(spec.model.name, spec.model.temperature, spec.model.max_tokens)
    limits = given.limits.stored()
    if given.timeout is not None:
        limits = msgspec.structs.replace(limits, episode_seconds=given.timeout)
    only = None if given.only is None else _seeds(given)
    spec = msgspec.structs.replace(
        given.spec(spec.benchmark, model, spec.agent, limits=limits),
        selection=Selection(only, None if only else given.limit, given.trials or 1),
    )
    command = known.descriptor.command
    return Work(spec, open_parts, exclusive=() if command is None else command.exclusive)


def _configured(path: Path, given: Arguments) -> Work:
    """Return the work for the configuration of a rollout."""
    from mesocosm.api.places import results_place
    from mesocosm.rollouts.configuration import read_config
    from mesocosm.rollouts.spec import SpecOverrides, run_spec

    _no_rows_arguments(given, f"the configuration {path}")
    if given.mcp:
        raise UsageError(f"the configuration {path} runs a workflow, which has its own tools; leave mcp= out")
    overrides: dict[str, Any] = {}
    if given.trials is not None:
        overrides["evaluation.n"] = given.trials
    config = read_config(path, overrides)
    place = results_place()
    folder = Path("benchmark_results") if "://" in place else Path(place).parent
    rows = ",".join(map(str, given.only or ()))
    spec = run_spec(
        config, SpecOverrides(results=folder, rows=rows, limit=given.limit, name=given.name, tags=tuple(given.tags))
    )
    if given.model is not None:
        spec = msgspec.structs.replace(spec, model=msgspec.structs.replace(spec.model, name=settled_model(given.model)))
    if given.parallel is not None:
        spec = msgspec.structs.replace(spec, parallel=given.parallel)
    return Work(spec, open_parts)
