"""The contents of `benchmark.toml`: identity, origin, score, requirements, parameters, reference scores."""

import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mesocosm.benchmarks.parameter import Id, Parameter, Text
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.registry import fold

FILE = "benchmark.toml"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ScoreField(_Part):
    """The ranking score: its metric, unit (`ratio`, `percent`, `usd`, …), bounds and direction.

    With a `threshold`, the metric is the share of episodes above it. `floor` is what one may earn who knows nothing,
    such as 0.25 where one of four options is right; `mesocosm validate` reports who earns more without solving.
    """

    field: Text = "score"
    unit: Text = "ratio"
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    threshold: float | None = None
    floor: float = 0.0


class FurtherMetric(_Part):
    """An additional metric. `score` names the episode score that it aggregates, by default the metric's own name.

    With `where` it covers only the tasks with all these values in their metadata.
    """

    name: Text
    score: str = ""
    aggregation: Literal["mean", "median", "max", "min", "sum", "pass_rate"] = "mean"
    threshold: float = 0.0
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | None = None
    where: dict[str, str] = {}


class Requirement(_Part):
    """Something that must be present on this machine.

    `program` must be on PATH, `package` importable, `variable` set and not empty, `file` must exist (relative to the
    descriptor; `{parameter}` stands for a parameter's value), `docker` is a running engine, `kvm` is hardware
    virtualisation, `disk` is free space in GB. `why` is shown when it is missing. It is not needed if one of the
    parameters in `unless` is set.
    """

    kind: Literal["program", "package", "variable", "file", "docker", "kvm", "disk"]
    name: str = ""
    why: str = ""
    unless: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _named(self) -> "Requirement":
        if self.kind not in ("docker", "kvm") and not self.name:
            raise ValueError(f"a requirement of kind {self.kind!r} needs a name")
        if self.kind == "disk":
            float(self.name)
        return self


class Reference(_Part):
    """A published score. It is compared only with results of the same unit and split."""

    label: Text
    value: float
    unit: Text = "ratio"
    split: Text
    source: Text
    published: date | None = None


class Cheat(_Part):
    """Something that must earn nothing: a fixed `reply`, or recorded results that `parameters` name.

    Paths are relative to the folder.
    """

    name: Text
    reply: str = ""
    parameters: dict[str, Any] = {}


class ItemPart(_Part):
    """JSON paths inside an item's record; an empty path means that the record has no such field.

    The values of `tags` are copied to the metadata of the item's task, where metrics with `where` find them.
    """

    id: str = "id"
    score: str = "score"
    input: str = "input"
    output: str = "output"
    error: str = "error"
    cluster: str = "cluster"
    tags: dict[str, str] = {}


class CommandPart(_Part):
    """How an external program is run; see mesocosm.benchmarks.command.

    `argv` words may hold the placeholders `{python}`, `{provider}`, `{model}`, `{temperature}`, `{max_tokens}`,
    `{seed}`, `{trial}`, `{base_url}`, `{output}`, `{folder}` and `{<parameter>}`. A list inside `argv` is left out as a
    whole if one of its parameters is not set, or one written as `{?parameter}` is false. `cwd` is relative to the
    folder and may hold placeholders, as may the values of `environment`. `pass_environment` names the variables of ours
    that the program may see. `result` holds patterns inside the output directory, `score` the JSON path of the score
    there, `stderr` and `n` those of its standard error and number of items, `metrics` further paths. `items` is a JSONL
    file with one record per item, or a JSON file with a list of them at the path `item_list`, and `item` gives the
    paths inside a record. In the sandbox `bubblewrap` the program can reach its model, but no other network address.
    """

    argv: tuple[str | tuple[str, ...], ...] = Field(min_length=1)
    cwd: str = "."
    environment: dict[str, str] = {}
    pass_environment: tuple[str, ...] = ()
    result: tuple[str, ...] = ("result.json",)
    score: str = "score"
    stderr: str = ""
    n: str = ""
    metrics: dict[str, str] = {}
    items: str = ""
    item_list: str = ""
    item: ItemPart = ItemPart()
    timeout_s: Annotated[float, Field(gt=0)] = 3600.0
    silence_s: Annotated[float, Field(gt=0)] | None = None
    slots: Annotated[int, Field(ge=1)] = 1
    exclusive: tuple[str, ...] = ()
    sandbox: Literal["plain", "bubblewrap"] = "plain"


class ModelPart(_Part):
    """Default model settings for this benchmark."""

    temperature: Annotated[float, Field(ge=0)] = 0.0
    max_tokens: Annotated[int, Field(ge=1)] = 1024


class Descriptor(_Part):
    """One benchmark, as its folder describes it.

    `module` (`module:attr` or `file.py:attr`, by default `benchmark.py:open_benchmark` in the folder) opens it;
    `manifest` instead names the manifest of an environment behind an adapter; `command` makes it an external program.
    `sampling` names the parameter that limits the number of tasks. An `offline` benchmark calls no model: none is
    opened or checked. `writes` are patterns of files that the benchmark writes itself, relative to its folder; they do
    not affect its digest.
    """

    id: Id
    aliases: tuple[Id, ...] = ()
    title: Text
    description: Text
    kind: Literal["environment", "rollout", "command"] = "environment"
    source: Text
    licence: Text
    version: Text
    split: Text = "test"
    agent: Text = "chat"
    agent_options: dict[str, Any] = {}
    module: str = ""
    manifest: str = ""
    sampling: str = ""
    offline: bool = False
    writes: tuple[str, ...] = ()
    score: ScoreField = ScoreField()
    metric: tuple[FurtherMetric, ...] = ()
    requirement: tuple[Requirement, ...] = ()
    model: ModelPart = ModelPart()
    parameters: dict[Id, Parameter] = Field(default={}, validation_alias=AliasChoices("parameters", "knobs"))
    reference: tuple[Reference, ...] = ()
    cheat: tuple[Cheat, ...] = ()
    command: CommandPart | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Descriptor":
        if (self.kind == "command") != (self.command is not None):
            raise ValueError("kind 'command' and the table [command] belong together")
        if self.sampling and self.sampling not in self.parameters:
            raise ValueError(f"sampling names {self.sampling!r}, which is not one of the parameters")
        names = [fold(name) for parameter, more in self.parameters.items() for name in (parameter, *more.aliases)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"two parameters are called {twice!r}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The id and all aliases."""
        return (self.id, *self.aliases)

    def card(self) -> dict[str, Any]:
        """Return the facts that viewers show beside the benchmark's runs."""
        shown = {"source", "licence", "split", "requirement", "reference", "sampling", "kind", "aliases"}
        return {**self.model_dump(mode="json", include=shown), "unit": self.score.unit}


def read_descriptor(folder: Path) -> Descriptor:
    """Return the descriptor of a folder. Raises UsageError for a missing file, InvalidInput listing every problem."""
    path = folder / FILE
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise InvalidInput(str(path), [Problem("", f"is not TOML: {error}")]) from error
    try:
        return Descriptor.model_validate(raw)
    except ValidationError as error:
        raise InvalidInput(str(path), _problems(error)) from error


def _problems(error: ValidationError) -> Iterator[Problem]:
    for found in error.errors(include_url=False, include_context=False):
        place: Mapping[str, Any] = found
        yield Problem(".".join(str(part) for part in place["loc"]), str(place["msg"]))
