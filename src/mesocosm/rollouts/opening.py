"""Open a stored reference to a rollout: the benchmark kind `rollout`."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.content import Content
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.registry import OptionRoles, declares_options
from mesocosm.core.run import BenchmarkRef
from mesocosm.rollouts.benchmark import KIND, GradingTerms, MakeGrader, RolloutBenchmark, RolloutSource, Rows
from mesocosm.rollouts.executor import RolloutExecutor
from mesocosm.rollouts.rows import RolloutRow
from mesocosm.rollouts.selection import Chosen, choose
from mesocosm.rollouts.source import read_source
from mesocosm.rollouts.tables import Columns

IN_PROCESS = "in-process"


class RolloutOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a reference of kind `rollout`; its source is the folder of the rollout.

    Secrets are given by name; their values come from the environment. `capped`: the number of rows in flight is a
    default, not a user's choice. `artifacts` is the folder for the rollout's files, `log` the file for its output,
    `words` the command line, without the program's name, that starts the same run.
    """

    entrypoint: str
    dataset: str
    name: str = ""
    columns: dict[str, Any] = {}
    metadata: bool = True
    revision: str = ""
    split: str = ""
    config: str = ""
    format: str = ""
    rows: str = ""
    limit: int | None = None
    everything: bool = False
    sample: float | None = None
    seed: int | None = None
    offset: int = 0
    pass_threshold: float = 1.0
    workflow_seconds: float | None = 450.0
    grader_seconds: float | None = 150.0
    environment: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    isolation: str = "process"
    workers: int | None = None
    grader: dict[str, Any] = {}
    capped: bool = False
    artifacts: str = ""
    installs: str = ""
    log: str = ""
    words: tuple[str, ...] = ()


@declares_options(
    OptionRoles(
        secrets="secrets",
        variables="environment",
        # The content of the dataset is one of the inputs, so its location does not count.
        local=frozenset({"artifacts", "installs", "log", "words", "capped", "dataset", "workers"}),
        kept=frozenset({"artifacts", "log"}),
    )
)
def open_rollout(ref: BenchmarkRef) -> RolloutBenchmark:
    """Return the benchmark of a reference, without starting it. Raises UsageError, InvalidInput, Incompatible."""
    try:
        options = msgspec.convert(ref.options, RolloutOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind {KIND!r}: {error}") from error
    folder = Path(ref.source)
    return rollout_benchmark(folder, options, lambda: _rows(options), partial(_place, folder, options))


def rollout_benchmark(
    folder: Path,
    options: RolloutOptions,
    rows: Callable[[], Rows],
    executor: Callable[[Content], RolloutExecutor],
) -> RolloutBenchmark:
    """Return the benchmark of the rollout in `folder`; `executor` gets its content, to notice changes.

    Raises UsageError if it has no entry file or its grader has invalid options, and as `rows` does.
    """
    if not (folder / options.entrypoint).is_file():
        raise UsageError(f"the rollout {folder} has no {options.entrypoint}; bring it back, or name its entrypoint")
    source = read_source(folder)
    content = Content(f"rollout {folder.name}", source.contents, lambda: read_source(folder).contents)
    return RolloutBenchmark(
        _origin(folder, options, source.digest),
        rows(),
        GradingTerms(
            options.pass_threshold,
            options.workflow_seconds,
            options.grader_seconds,
            options.seed or 0,
        ),
        executor(content),
        content=content,
        grader=_grader(options.grader),
        artifacts=Path(options.artifacts or "artifacts"),
        capped=options.capped,
    )


def _origin(folder: Path, options: RolloutOptions, source: str) -> RolloutSource:
    inputs = {
        "rollout source": source,
        "entrypoint": options.entrypoint,
        "env": digest([options.environment, sorted(options.secrets)]),
        "timeouts": digest([options.workflow_seconds, options.grader_seconds]),
        "grader": digest(options.grader) if options.grader else "",
        "seed": str(options.seed or 0),
    }
    card = {
        "rollout": folder.name,
        "entrypoint": options.entrypoint,
        "dataset": options.name,
        "pass_threshold": options.pass_threshold,
        "grader": options.grader.get("use", "") if options.grader else "",
    }
    # The rollout's own grader has no options to digest; only its source identifies it.
    measure = inputs["grader"] or inputs["rollout source"]
    return RolloutSource(folder.name, measure, {name: value for name, value in inputs.items() if value}, card)


def _rows(options: RolloutOptions) -> Rows:
    from mesocosm.datasets import open_table
    from mesocosm.datasets.opening import is_hub_id
    from mesocosm.datasets.splits import split_places
    from mesocosm.rollouts.rows import read_rows

    is_hub = is_hub_id(options.dataset)
    table = open_table(
        options.dataset,
        revision=options.revision,
        split=options.split if is_hub else "",
        config=options.config,
        kind=options.format,
        name=options.name,
    )
    columns = msgspec.convert(options.columns, Columns)
    rows = read_rows(table, columns, extras=options.metadata)
    notes, places = (*table.notes, *rows.notes), None
    if options.split and not is_hub:
        places = split_places(table, columns.split, options.split)
    return chosen_rows(options, rows, table.digest, options.name or table.name, notes, places)


def chosen_rows(
    options: RolloutOptions,
    rows: Sequence[RolloutRow],
    content_digest: str,
    name: str,
    notes: tuple[str, ...] = (),
    places: Sequence[int] | None = None,
) -> Rows:
    """Return the rows that the options choose from those of a dataset; `content_digest` is that of its files.

    `places` are the indices of the rows of the split that the options name, None for the whole dataset.
    Raises UsageError if they choose none, or rows that do not exist.
    """
    chosen = choose(
        len(rows) if places is None or options.rows else len(places),
        rows=options.rows,
        limit=options.limit,
        everything=options.everything,
        sample=options.sample,
        seed=options.seed,
        offset=options.offset,
        digest=content_digest,
    )
    if places is not None:
        chosen = _of_split(chosen, places, options)
    whole = len(chosen.indices) == len(rows)
    columns = msgspec.convert(options.columns, Columns)
    content, choice = [content_digest, columns.options()], None if whole else list(chosen.indices)
    return Rows(
        name,
        rows,
        chosen.indices,
        chosen.description,
        digest([*content, choice]),
        notes,
        content=digest(content),
        choice=digest(choice) if choice else "",
    )


def _of_split(chosen: Chosen, places: Sequence[int], options: RolloutOptions) -> Chosen:
    """Return the choice among the rows of a split as one among all rows. Raises UsageError for rows of another one."""
    described = f"{chosen.description}, of the split {options.split}"
    if not options.rows:
        return replace(chosen, indices=[places[place] for place in chosen.indices], description=described)
    inside = frozenset(places)
    if others := [place for place in chosen.indices if place not in inside]:
        raise UsageError(f"rows {options.rows!r}: row {others[0]} is not in the split {options.split!r}; leave one out")
    return replace(chosen, description=described)


def _place(folder: Path, options: RolloutOptions, content: Content) -> RolloutExecutor:
    if options.isolation == IN_PROCESS:
        from mesocosm.rollouts.local import InProcessExecutor

        _secrets(options.secrets)
        return InProcessExecutor(folder, options.entrypoint, options.environment, content)
    from mesocosm.rollouts.processes.executor import ProcessExecutor

    secrets = _secrets(options.secrets)
    return ProcessExecutor(
        folder,
        options.entrypoint,
        environment={**options.environment, **secrets},
        secrets=tuple(secrets.values()),
        content=content,
        installs=Path(options.installs) if options.installs else None,
        workers=options.workers,
        log_file=Path(options.log) if options.log else None,
    )


def _secrets(names: tuple[str, ...]) -> Mapping[str, str]:
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise UsageError(
            f"the rollout needs {', '.join(missing)}: set {'it' if len(missing) == 1 else 'them'} in the environment, "
            "or give --secrets-file FILE"
        )
    return {name: os.environ[name] for name in names}


def _grader(options: Mapping[str, Any]) -> MakeGrader | None:
    if not options:
        return None
    from mesocosm.rollouts.graders.catalogue import open_grader

    given = dict(options)
    use = str(given.pop("use", ""))
    # Raises for invalid options before anything runs.
    if lacking := open_grader(use, given).lacking():
        raise UsageError(lacking)
    return lambda: open_grader(use, given)
