"""`bench compare` and `bench view-comparison`: run the same benchmarks with two models and compare them."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from mesocosm.cli.bench import flags
from mesocosm.cli.bench.catalogue import folders_option
from mesocosm.cli.command import CommonOptions, FiniteFloat, MesocosmCommand, options
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.remote.connection import Remote
from mesocosm.cli.render import emit
from mesocosm.cli.results import open_results

if TYPE_CHECKING:
    from mesocosm.benchmarks.catalogue import BenchmarkCatalogue
    from mesocosm.cli.gate_options import GateResult
    from mesocosm.server.runs.model_comparison import ModelComparison
    from mesocosm.store import Store

COMPARISONS = "comparisons"


@gate_options(baseline=False)
@click.command(
    cls=Remote,
    many=flags.MANY,
    own=(
        *("--a", "--b", "--benchmarks", "--limit", "--param", "--temperature", "--trials", "--parallel"),
        *("--budget", "--out", "--force", "--fail-if", "--junit", "--markdown"),
    ),
)
@click.option("--a", "first", required=True, metavar="SPEC", help="First model: provider:model[@base_url].")
@click.option("--b", "second", required=True, metavar="SPEC", help="Second model.")
@click.option(
    "--benchmarks", multiple=True, required=True, metavar="ID [ID ...]", help="Benchmarks, separated by commas."
)
@folders_option
@flags.where
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder to write the comparison to [<results>/comparisons]."
)
@flags.how
@flags.again
def compare(**given: Any) -> int:
    """Run benchmarks with two models and print the differences with intervals and tests.

    Existing runs with the same settings are reused, unless --force is given. A difference counts only when
    its paired interval excludes 0. Exit 1 when a benchmark failed, nothing could be compared, or a condition of
    --fail-if (about B, against A) is broken; 3 when one cannot be decided.

    With --remote both sides run on the server where you are logged in, and it compares them.

    \b
    mesocosm bench compare --a vllm:my/model@http://127.0.0.1:8001/v1 \\
        --b vllm:other/model@http://127.0.0.1:8002/v1 --benchmarks bfcl,realm,context-bench
    """
    from mesocosm.cli.bench.catalogue import catalogue
    from mesocosm.cli.bench.comparison_report import document
    from mesocosm.core.group import stamped_id

    chosen = options()
    chosen.quiet = given["quiet"]
    if flags.on_server(given):
        from importlib import import_module

        compare_remote: Any = import_module("mesocosm.cli.bench.remote_comparison").compare_remote

        code: int = compare_remote(given)
        return code
    chosen.part(GateFlags).check(comparing=True)
    comparison_id, known = stamped_id("cmp"), catalogue(given["folders"])
    interrupted = False
    sides = ("a", model_of(given["first"])), ("b", model_of(given["second"]))
    for side, name in sides:
        interrupted = interrupted or _run(side, name, comparison_id, known, given)
    store, found = _read(comparison_id, chosen)
    path = write_comparison(document(found, time.time()), given["out"] or chosen.results() / COMPARISONS)
    judged = _show(found, store, chosen)
    if not chosen.json:
        click.echo(f"Wrote {path}")
    if interrupted:
        return 130
    compared = any(row.pair is not None for row in found.rows)
    if not compared:
        click.echo("error: nothing could be compared: no benchmark has two runs with scores", err=True)
    left = found.failed or (found.incompatible and not given.get("everything"))
    return judged.code(0 if compared and not left else 1)


@gate_options(baseline=False)
@click.command("view-comparison", cls=MesocosmCommand)
@click.argument("comparison_id")
def view_comparison(comparison_id: str) -> int:
    """Show a stored comparison again; exit 1 if it does not exist, or has only one side.

    Conditions are judged as by `bench compare`.
    """
    from mesocosm.core.failure import UnknownName

    options().part(GateFlags).check(comparing=True)
    try:
        store, found = _read(comparison_id, options())
    except UnknownName as error:
        newest = max((options().results() / COMPARISONS).glob("compare-*.json"), default=None)
        hint = f"; the newest one is {newest.stem.removeprefix('compare-')}" if newest else ""
        click.echo(f"error: {error}{hint}", err=True)
        return 1
    if not found.complete:
        click.echo(f"error: comparison {comparison_id} has only one side; run it again", err=True)
        return 1
    return _show(found, store, options()).code(0)


def model_of(text: str) -> tuple[str, str]:
    """Return provider and model (with `@base_url`) of a spec `provider:model[@base_url]`. Raises UsageError."""
    from mesocosm.core.failure import UsageError
    from mesocosm.core.model import ModelName

    provider, colon, model = text.strip().partition(":")
    if not colon or "/" in provider:
        provider, _, model = text.strip().partition("/")
    if not provider or not model:
        raise UsageError(f"{text!r} names no model; write provider:model or provider:model@http://127.0.0.1:8001/v1")
    ModelName.parse(f"{provider}/{model}")
    return provider, model


def _run(
    side: str, name: tuple[str, str], comparison_id: str, known: "BenchmarkCatalogue", given: dict[str, Any]
) -> bool:
    """Run one side; return whether it was interrupted."""
    from mesocosm.cli.bench.work import BenchWork

    chosen = options()
    request = flags.request_of(given, provider=name[0], model=name[1])
    with BenchWork(request, known, chosen, **flags.again_of(given), comparison=(comparison_id, side)) as work:
        for note in work.notes if side == "a" else ():
            click.echo(f"note: {note}", err=True)
        chosen.part(GateFlags).check_metrics(work.infos)
        _, interrupted = work.run()
        work.refresh()
        return interrupted


def _read(comparison_id: str, chosen: CommonOptions) -> "tuple[Store, ModelComparison]":
    from mesocosm.server.permissions.benchmark_records import local_records
    from mesocosm.server.runs.model_comparison import read_model_comparison

    store = open_results(chosen, create=False)
    click.get_current_context().call_on_close(store.close)
    return store, read_model_comparison(local_records(store), comparison_id)


def write_comparison(document: dict[str, Any], folder: Path) -> Path:
    """Write a comparison to a folder and return the file."""
    import msgspec

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"compare-{document['comparison_id']}.json"
    draft = path.with_suffix(".part")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    draft.replace(path)
    return path


def _show(found: "ModelComparison", store: "Store", chosen: CommonOptions) -> "GateResult":
    """Print a comparison with the answers of its gate."""
    from mesocosm.cli.bench.comparison_report import document, lines
    from mesocosm.cli.comparison_report import markdown
    from mesocosm.cli.viewer_link import page

    compared = found.comparison
    judged = chosen.part(GateFlags).judge_comparison(store.episodes, compared)
    judged.write("mesocosm bench compare", lambda: markdown(compared))
    if chosen.json:
        emit({**document(found, time.time()), **({"gate": judged.document()} if judged.verdicts else {})})
    else:
        for line in [*lines(found), *judged.lines()]:
            click.echo(line)
        path = f"/compare?{urlencode({'comparison': found.comparison_id})}"
        click.echo(f"\n  {page(path, store, chosen)}")
    return judged
