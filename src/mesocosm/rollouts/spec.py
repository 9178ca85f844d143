"""Convert a configuration into the spec of a run."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.folder import from_home
from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.reading import nearest
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunSpec, Selection
from mesocosm.rollouts.benchmark import KIND
from mesocosm.rollouts.configuration import Config
from mesocosm.rollouts.opening import IN_PROCESS, RolloutOptions
from mesocosm.rollouts.tables import Evaluation

ENDINGS = (".jsonl", ".csv", ".parquet", ".json", ".tsv", ".ndjson", ".jsonl.gz", ".csv.gz")
"""File endings to try for a dataset in the folder `data` that is named without one."""

_LONGEST_NAME = 96
_RUN_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_NAME - 1}}}")

AUTOMATIC = 256
"""Default maximum of rows in flight; the rollout's capacity may lower it."""


@dataclass(frozen=True, slots=True)
class SpecOverrides:
    """Settings from the command line, in addition to the configuration.

    `results` is the results directory; a `limit` of 0 means all rows. `limits` are fields of core.run.Limits and take
    precedence over the configuration's. `located` is where the dataset is and its name, if it need not be looked for.
    """

    results: Path
    rows: str = ""
    limit: int | None = None
    dataset: str = ""
    max_in_flight: int | None = None
    name: str = ""
    in_process: bool = False
    assignments: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    cache: str = ""
    tags: tuple[str, ...] = ()
    located: tuple[str, str] | None = None


def run_name_fault(name: str) -> str:
    """Return why a run of an evaluation cannot have a name, empty if it can."""
    if _RUN_NAME.fullmatch(name):
        return ""
    return (
        f"a run cannot be called {name[:120]!r}; use at most {_LONGEST_NAME} letters, digits, '.', '_' and '-', "
        "beginning with a letter or a digit"
    )


def stamped_name(configuration: str) -> str:
    """Return a name for a run of a configuration, given by its path: its stem, the time in UTC, and random digits."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePosixPath(configuration).stem).lstrip("._-")[:60] or "evaluation"
    return f"{stem}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{token_hex(4)}"


def run_spec(config: Config, choice: SpecOverrides) -> RunSpec:
    """Return the spec of a run. Raises UsageError for an invalid model, InvalidInput for an unknown dataset."""
    evaluation = config.evaluation
    parallel = choice.max_in_flight or evaluation.batch_size
    return RunSpec(
        benchmark=BenchmarkRef(KIND, str(config.folder), _options(config, choice)),
        model=_model(config, config.experiment.model_path, choice.cache),
        agent=AgentSettings("program", label=config.experiment.rollout),
        selection=Selection(trials=evaluation.n),
        limits=Limits(**{**_limits(evaluation), **choice.limits}),
        parallel=parallel or AUTOMATIC,
        name=choice.name,
        tags=choice.tags,
        judge=_model(config, config.model.judge, choice.cache) if config.model.judge else None,
    )


def _limits(evaluation: Evaluation) -> dict[str, Any]:
    named = {"outage_seconds": evaluation.outage_seconds, "max_missing": evaluation.max_missing}
    return {name: value for name, value in named.items() if value is not None}


def _options(config: Config, choice: SpecOverrides) -> dict[str, Any]:
    evaluation, dataset = config.evaluation, config.dataset
    place, name = choice.located or _dataset(config, choice)
    limit = evaluation.limit if choice.limit is None else choice.limit or None
    isolated = not choice.in_process and config.isolation != IN_PROCESS
    options = RolloutOptions(
        entrypoint=config.experiment.entrypoint,
        dataset=place,
        name=name,
        columns=dataset.columns.options(),
        metadata=dataset.metadata,
        revision=dataset.revision,
        split=dataset.split,
        config=dataset.config,
        format=dataset.format,
        rows=choice.rows,
        limit=limit,
        everything=evaluation.everything if choice.limit is None else choice.limit == 0,
        sample=None if choice.limit is not None else evaluation.sample,
        seed=evaluation.seed,
        offset=evaluation.offset,
        pass_threshold=evaluation.pass_threshold,
        workflow_seconds=evaluation.agent_workflow_timeout_s,
        grader_seconds=evaluation.grader_timeout_s,
        environment=dict(config.env),
        secrets=config.secrets,
        isolation="process" if isolated else IN_PROCESS,
        workers=config.workers,
        grader={} if config.grader is None else {"use": config.grader.use, **config.grader.options},
        capped=choice.max_in_flight is None and evaluation.batch_size is None,
        artifacts=str((choice.results / "artifacts").absolute()),
        installs=str(config.workspace.root / ".mesocosm" / "environments"),
        words=(*_words(config, choice),),
        # A separate file for this run, without the output of other runs of the rollout.
        log=str((choice.results / "logs" / f"{config.experiment.rollout}-{new_id()}.log").absolute()),
    )
    found: dict[str, Any] = msgspec.to_builtins(options)
    return found


def _words(config: Config, choice: SpecOverrides) -> Iterator[str]:
    """Yield the command line that starts this run."""
    yield from ("eval", "run-local", str(config.path))
    for text in choice.assignments:
        yield from ("--set", text)
    limit = "all" if choice.limit == 0 else choice.limit
    named = (("--rows", choice.rows), ("--limit", limit), ("--dataset-file", choice.dataset))
    for flag, value in (*named, ("--max-in-flight", choice.max_in_flight)):
        if value:
            yield from (flag, str(value))
    if choice.in_process:
        yield "--in-process"


def _dataset(config: Config, choice: SpecOverrides) -> tuple[str, str]:
    """Return the location and name of the dataset. Workspace files come before the hub.

    Raises UsageError if the file of `choice` is missing, InvalidInput if the configured dataset is not found.
    """
    if choice.dataset:
        file = from_home(choice.dataset)
        if not file.exists():
            raise UsageError(f"there is no dataset {file}; --dataset-file names a file or a folder")
        return str(file.resolve()), file.name.partition(".")[0] or file.name
    wanted, root, data = config.experiment.dataset, config.workspace.root, config.workspace.data
    places = [root / from_home(wanted), data / wanted, *(data / f"{wanted}{ending}" for ending in ENDINGS)]
    found = next((place for place in places if place.exists()), None)
    if found is not None:
        return str(found.resolve()), found.name.partition(".")[0] or found.name
    hub = wanted.removeprefix("hf:")
    if hub.count("/") == 1 and not hub.startswith((".", "/")) and not Path(hub).suffix:
        return f"hf:{hub}", hub
    names = {file.name.partition(".")[0] for file in data.iterdir()} if data.is_dir() else set()
    near = nearest(wanted, sorted(names))
    message = (
        f"there is no dataset {wanted!r}: neither {root / wanted} nor {data / wanted}, also with one of the endings "
        f"{', '.join(ENDINGS)}"
    )
    fix = f"did you mean {near!r}? Else put" if near else "put"
    fix += " it there, write its path, or name one of the hub as hf:OWNER/NAME"
    raise InvalidInput(str(config.path), [Problem("experiment.dataset", message, fix)])


def _file(config: Config, text: str) -> Path:
    """Return the path of a recording: relative to the current directory, else to the workspace."""
    file = from_home(text)
    within = config.workspace.root / file
    return within if not file.exists() and within.exists() else file.absolute()


def _model(config: Config, text: str, cache: str) -> ModelSettings:
    table = config.model
    name = ModelName.parse(text)
    if table.base_url and not name.base_url and text == config.experiment.model_path:
        name = ModelName(name.provider, name.model, table.base_url.rstrip("/"))
    whole = str(name)
    if name.file:
        whole = whole.replace(name.file, str(_file(config, name.file)))
    return ModelSettings(
        name=whole,
        temperature=table.temperature,
        max_tokens=table.max_tokens,
        top_p=table.top_p,
        extra={**table.extra, **({"reasoning_effort": table.reasoning_effort} if table.reasoning_effort else {})},
        timeout_s=table.timeout_s,
        cache=cache,
    )
