"""`mesocosm chaos -- COMMAND…`: check whether disturbing a command loses, repeats or changes anything."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import CommonOptions, FiniteFloat, MesocosmCommand, options, plural, vars_of
from mesocosm.cli.main import program
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.chaos.fault import ChaosFault
    from mesocosm.chaos.trials import Baseline, ChaosPlan, FaultResult
    from mesocosm.core.model import ModelName
    from mesocosm.rollouts.configuration import Config

UNDECIDED = 3
COUNTED = ("lost", "twice", "changed", "wrong")
OWN = (
    *("--results-dir", "--database-url", "--blob-url", "--cache", "--fresh", "--view"),
    *("--output", "-o", "--junit", "--markdown", "--fail-if", "--baseline"),
)
"""Options that a disturbed command must not have: they redirect its results, or make it start over."""
PLAYS = (("run", "local"), ("bench", "run"), ("eval", "run-local"))
_ADDRESS = re.compile(r"(@|^model\.base_url=)(https?://[^\s\"',]+)")
_PROVIDER = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)/[^\s=]*@https?://")


def _names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from mesocosm.chaos.fault import BY_NAME

    wanted = tuple(name for text in values for name in text.split(",") if name)
    for name in wanted:
        if name not in BY_NAME:
            raise click.BadParameter(f"{name!r} is not a fault; choose from {', '.join(BY_NAME)}")
    return wanted


@click.command(cls=MesocosmCommand, many=("--faults",))
@click.argument("command", nargs=-1, required=True, metavar="[--] COMMAND...")
@click.option("--faults", multiple=True, callback=_names, metavar="NAME [NAME ...]", help="Faults to inject [all].")
@click.option("--kills", type=click.IntRange(min=1), default=10, show_default=True, help="Kills at random moments.")
@click.option(
    "--seconds",
    type=FiniteFloat(min=0, min_open=True, max=600),
    default=3.0,
    show_default=True,
    help="How long a model server fails or a process is suspended.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random moments.")
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Keep all results in this directory.")
def chaos(command: tuple[str, ...], faults: tuple[str, ...], keep: Path | None, **given: Any) -> int:
    """Run a command under faults, repair each run with one command, and report what was lost, repeated or changed.

    COMMAND runs on this machine: run local, bench run or eval run-local, with its options. It runs twice undisturbed,
    then once under each fault, each time with separate results, never with yours. Every run is continued by one
    command, and its record compared with the undisturbed one, episode by episode.

    A model with a URL is called through a caching proxy on this machine: equal requests get equal responses, and the
    model is paid once. Exit 0: nothing was found. 1: something was lost, repeated, changed, damaged, or reported as
    finished with other numbers. 3: undecided, because two undisturbed runs differ or a fault never struck.

    \b
    kill         kill -9 at random moments, each on the results of the last one
    interrupt    Ctrl-C                     terminate  SIGTERM
    suspend      paused for --seconds       disk-full  no file of the results can grow
    down         connections refused        dead       connections dropped
    hang         no response                half       half a response
    503 429 400  that status                nan        Retry-After: nan, inf
    html         a web page                 deep       JSON of 3,000 levels
    gzip         3 MiB of empty members     other-model  another model's name

    \b
    mesocosm chaos -- run local --model builtin/random --episodes 50 --parallel 4
    mesocosm chaos --kills 50 -- bench run --benchmarks gsm8k --max-examples 50
    mesocosm chaos --faults kill,503 -- eval run-local configs/eval/sums.toml
    """
    from mesocosm.chaos.fault import FAULTS
    from mesocosm.chaos.model_proxy import ModelProxy
    from mesocosm.chaos.trials import ChaosPlan, ChaosTrials

    chosen = options()
    if chosen.results_dir or chosen.database_url or chosen.blob_url:
        raise UsageError("chaos keeps separate results; name a directory for them with --keep")
    words = list(command[1:] if command[0] == "mesocosm" else command)
    context = _parsed(words)
    model = _model(context)
    _stay_local(model, context)
    wanted = [fault for fault in FAULTS if not faults or fault.name in faults]
    with _place(keep) as place, _ends_on_sigterm(), ModelProxy() as proxy:
        led, variables = _led([*words, *_settings(context)], model, proxy.address)
        continues = "manifest" not in context.params
        plan = ChaosPlan(led, place.path, variables, continues=continues, **given)
        _say(f"at least {plural(2 + len(wanted), 'run')} of: mesocosm {' '.join(words)}")
        _say("undisturbed, twice …")
        results = []
        with ChaosTrials(plan, proxy) as trials:
            calm = trials.undisturbed()
            _say(_summary(calm, plan, wanted))
            for fault in wanted:
                results.append(trials.under(fault, calm))
                if _expected(results[-1], calm):
                    _say(_line(results[-1]))
        found = any(result.findings for result in results)
        place.kept = place.kept or found
        unclear = not calm.decidable or any(not result.met for result in results if faults or _expected(result, calm))
        _show(words, plan, calm, results, place.path if place.kept else None, chosen)
    return 1 if found else UNDECIDED if unclear else 0


@contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """Let SIGTERM interrupt the current run, as Ctrl-C does."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Place:
    def __init__(self, path: Path, *, kept: bool) -> None:
        self.path, self.kept = path, kept


@contextmanager
def _place(keep: Path | None) -> "Iterator[_Place]":
    """Yield the directory of all results, which is removed unless it must be kept. Raises UsageError."""
    import shutil

    if keep is not None:
        if keep.exists() and any(keep.iterdir()):
            raise UsageError(f"{keep} is not empty; name a new directory with --keep")
        keep.mkdir(parents=True, exist_ok=True)
    place = _Place((keep or Path(tempfile.mkdtemp(prefix="mesocosm-chaos-"))).resolve(), kept=keep is not None)
    try:
        yield place
    finally:
        if not place.kept:
            shutil.rmtree(place.path, ignore_errors=True)


def _parsed(words: list[str]) -> click.Context:
    """Return the parsed command. Raises UsageError for one that runs nothing here, or has an option of OWN."""
    given = [word.partition("=")[0] for word in words]
    if refused := [option for option in OWN if option in given]:
        raise UsageError(f"chaos keeps separate results and compares them itself; remove {refused[0]}")
    if tuple(words[:2]) not in PLAYS:
        raise UsageError(
            f"mesocosm {' '.join(words[:2])} runs nothing on this machine; use {' or '.join(map(' '.join, PLAYS))} "
            "with its options"
        )
    context, rest = click.Context(program, info_name="mesocosm", obj=CommonOptions()), list(words)
    while isinstance(context.command, click.Group):
        name = rest.pop(0)
        found = context.command.get_command(context, name)
        assert found is not None, "it is one of PLAYS"
        if isinstance(found, click.Group):
            context = click.Context(found, info_name=name, parent=context)
        else:
            context = found.make_context(name, rest, context)
    return context


def _model(context: click.Context) -> "ModelName":
    """Return the model that the command calls. Raises UsageError."""
    from mesocosm.core.model import ModelName

    given = context.params
    if "provider" in given:
        from mesocosm.cli.bench.flags import models_of
        from mesocosm.cli.bench.request import BenchRequest

        models = models_of(given)
        if len(models) > 1:
            raise UsageError("chaos compares runs of one model; name one")
        return BenchRequest(provider=given["provider"], model=next(iter(models), "")).name
    if given["model"] or "config" not in given:
        return ModelName.parse(given["model"])
    table = _config(context)
    name = ModelName.parse(table.experiment.model_path)
    return ModelName(name.provider, name.model, name.base_url or table.model.base_url)


def _config(context: click.Context) -> "Config":
    from mesocosm.rollouts.configuration import parse_overrides, read_config

    return read_config(context.params["config"], parse_overrides(context.params["assignments"]))


def _settings(context: click.Context) -> list[str]:
    """Return the model addresses that only the configuration file sets, as arguments."""
    if "config" not in context.params:
        return []
    config = _config(context)
    found = {"model.base_url": config.model.base_url, "model.judge": config.model.judge}
    if not context.params["model"]:
        found["experiment.model_path"] = config.experiment.model_path
    return [word for key, value in found.items() if "://" in value for word in ("--set", f"{key}={value}")]


def _stay_local(model: "ModelName", context: click.Context) -> None:
    """Raise UsageError if the model is not on this machine and the command does not allow that."""
    from mesocosm.models.catalogue import is_local

    if context.params.get("allow_cloud") is False and not is_local(model):
        raise UsageError(f"{model} is not on this machine; add --allow-cloud to the command behind --")


def _led(words: Sequence[str], model: "ModelName", address: Callable[[str], str]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and variables that point to our servers instead of the models' own."""
    from mesocosm.cli.bench.request import FALLBACK_URLS
    from mesocosm.client.urls import URL_VARIABLES
    from mesocosm.core.model import ModelName
    from mesocosm.models import ollama
    from mesocosm.models.endpoint import NATIVE, PROVIDERS

    led = [_ADDRESS.sub(lambda found: f"{found[1]}{address(found[2])}", word) for word in words]
    variables = {
        name: address(value.strip())
        for name, value in os.environ.items()
        if name.endswith(("_BASE_URL", "_API_BASE")) and name not in URL_VARIABLES and value.strip().startswith("http")
    }
    # A provider with a server on the command line gets no variable: its key would then belong to that address alone.
    settled = {found[1].lower() for word in words for found in _PROVIDER.finditer(word)}
    settled |= {model.provider} if model.base_url else set()
    if not any(name in os.environ for name in FALLBACK_URLS):
        for provider, place in {**PROVIDERS, **NATIVE}.items():
            prefix = provider.upper().replace("-", "_")
            if provider not in settled and f"{prefix}_API_BASE" not in variables:
                variables.setdefault(f"{prefix}_BASE_URL", address(place))
    variables["OLLAMA_HOST"] = address(ollama.base_url(ModelName("ollama", "any")))
    return led, variables


def _expected(result: "FaultResult", calm: "Baseline") -> bool:
    """Return whether a default fault should have had an effect."""
    from mesocosm.chaos.fault import FaultTarget

    return result.fault.means is not FaultTarget.MODEL or calm.answers > 0


def _say(text: str) -> None:
    click.echo(text, err=True)


def _summary(calm: "Baseline", plan: "ChaosPlan", wanted: "Sequence[ChaosFault]") -> str:
    """Return a description of the undisturbed runs, and an estimate of the time that the faults take."""
    from mesocosm.chaos.fault import FaultTarget
    from mesocosm.cli.render import duration

    asked = f", {plural(calm.answers, 'response')} of the model ({calm.asked:,} from its own server)"
    starts = sum(plan.kills // 2 if fault.means is FaultTarget.KILL else 2 for fault in wanted)
    rest = starts * (calm.seconds + 1) + plan.seconds * sum(fault.means is FaultTarget.MODEL for fault in wanted)
    return (
        f"undisturbed: {plural(calm.record.episodes, 'episode')}{asked if calm.answers else ''}, "
        f"{duration(calm.seconds)}; the faults take about {duration(rest)}"
        + ("" if calm.decidable else "\nnote: two undisturbed runs differ, so changed values cannot be detected")
    )


def _line(result: "FaultResult") -> str:
    from mesocosm.cli.render import duration

    wrong = ", ".join(f"{finding.count} {finding.sort}" for finding in result.findings)
    return f"{result.fault.name}: {result.said}, {duration(result.seconds)}{f' – {wrong}' if wrong else ''}"


def _show(
    words: Sequence[str],
    plan: "ChaosPlan",
    calm: "Baseline",
    results: "Sequence[FaultResult]",
    place: Path | None,
    chosen: CommonOptions,
) -> None:
    from mesocosm.cli.render import emit, table

    if chosen.json:
        emit(_document(words, plan, calm, results, place))
        return
    rows = [
        [
            result.fault.name,
            f"{result.met:,}",
            *(f"{count:,}" for count in _counts(result, calm)),
            result.said,
            result.repaired_by,
        ]
        for result in results
        if result.met or result.findings or _expected(result, calm)
    ]
    columns = ["fault", "times", *COUNTED, "outcome", "repaired by"]
    click.echo()
    table(columns, rows, chosen, right=(1, 2, 3, 4, 5), whole=(0, 1, 2, 3, 4, 5))
    for result in results:
        for finding in result.findings:
            click.echo(f"\n{result.fault.name}: {finding.sort}: {finding.what}", nl=False)
    click.echo(f"\n\n{_verdict(calm, results)}")
    if place is not None:
        click.echo(f"the results are in {place}")


def _counts(result: "FaultResult", calm: "Baseline") -> list[int]:
    """Return the numbers of lost, repeated, changed and otherwise wrong episodes."""
    from mesocosm.chaos.record import FindingKind

    main = (FindingKind.LOST, FindingKind.TWICE, FindingKind.CHANGED)
    return [*(result.number(sort) for sort in main), result.number(*(sort for sort in FindingKind if sort not in main))]


def _verdict(calm: "Baseline", results: "Sequence[FaultResult]") -> str:
    lost, twice, changed, wrong = (sum(column) for column in zip(*(_counts(one, calm) for one in results), strict=True))
    struck = [result for result in results if result.met]
    under = f"under {plural(len(struck), 'fault')} ({plural(sum(result.plays for result in struck), 'run')})"
    if lost or twice or changed or wrong:
        return f"{lost} lost, {twice} repeated, {changed} changed, {wrong} otherwise wrong {under}"
    missed = [result.fault.name for result in results if not result.met]
    untried = f"; not tried: {', '.join(missed)}" if missed else ""
    if not calm.decidable:
        return f"nothing was lost or repeated {under}; whether anything changed is undecided{untried}"
    return f"nothing was lost, repeated or changed {under}{untried}"


def _document(
    words: Sequence[str], plan: "ChaosPlan", calm: "Baseline", results: "Sequence[FaultResult]", place: Path | None
) -> dict[str, Any]:
    return {
        "command": ["mesocosm", *words],
        "seed": plan.seed,
        "undisturbed": {
            "episodes": calm.record.episodes,
            "seconds": calm.seconds,
            "answers": calm.answers,
            "asked_of_model": calm.asked,
            "decidable": calm.decidable,
        },
        "faults": [
            {
                "fault": result.fault.name,
                "met": result.met,
                "plays": result.plays,
                **dict(zip(COUNTED, _counts(result, calm), strict=True)),
                "asked_again": result.asked_again,
                "said": result.said,
                "repaired_by": result.repaired_by,
                "seconds": result.seconds,
                "findings": [vars_of(finding) for finding in result.findings],
            }
            for result in results
        ],
        "results": str(place) if place is not None else None,
        "verdict": _verdict(calm, results),
    }
