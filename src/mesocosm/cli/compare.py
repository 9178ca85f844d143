"""`mesocosm compare`: compare stored runs with the first of them, for people and for gates, or two episodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.remote.connection import Remote, workspace_option
from mesocosm.cli.render import emit
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.cli.comparison_report import TaskNames
    from mesocosm.engine.comparison.runs import RunComparison
    from mesocosm.engine.results import Samples

NOTHING_COMPARED = 1


@dataclass(frozen=True)
class _Compared:
    """A comparison, what its conditions and the names of tasks are read from, and the place of its page."""

    found: "RunComparison"
    samples: "Samples"
    names: "TaskNames"
    page: Callable[[], str]


class CompareCommand(Remote):
    """The command; with -m it runs what is named with each of the models, and compares these runs."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments with the command that they belong to."""
        words = [word.partition("=")[0] for word in args]
        if {"-m", "--model"} & set(words) and not args[0].startswith("-"):
            from mesocosm.cli.what import command_of

            found = command_of(args)
            if found is not None:
                command, rest = found
                return command.make_context(info_name, rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@gate_options()
@click.command(cls=CompareCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("-m", "--model", "models", multiple=True, metavar="MODEL", help="Run WHAT with each, and compare these.")
@click.option("--metric", default="", help="Metric to compare [the primary one].")
@click.option("--flipped", is_flag=True, help="List every task that one run passes and the other does not.")
@workspace_option
@click.option("--remote", is_flag=True, help="Compare runs of your workspace on the server, by name or id.")
def compare(
    runs: tuple[str, ...], models: tuple[str, ...], metric: str, workspace: str | None, *, flipped: bool, remote: bool
) -> int:
    """Compare runs of the store: those of one benchmark, each against the first of them, task by task.

    With WHAT and several -m it runs WHAT with each model and compares these runs. It takes every option of
    `mesocosm run WHAT`, such as -n and --set: mesocosm run WHAT --help.

    A difference counts only when its interval excludes 0 and the test rejects; with more than two runs p values are
    Holm-adjusted. Exit 1 when none of the runs can be compared, or a condition is broken; 3 when one cannot be decided.

    With two EPISODEs of a task (an id, or RUN/INDEX) it aligns their steps, and says where they part ways.

    \b
    mesocosm compare RUN RUN --fail-if 'regression p<0.05' --fail-if 'missing>2%' --junit gate.xml
    mesocosm compare gsm8k -m openai/gpt-5-mini -m ollama/llama3.2 -n 50
    mesocosm compare RUN RUN --remote    runs of your workspace on a server
    mesocosm gate --help    lists the conditions
    """
    from mesocosm.cli.comparison_report import document, every_flipped, markdown, tell
    from mesocosm.engine.comparison.gate import check_run_metrics

    gate, chosen = options().part(GateFlags), options()
    if models:
        raise UsageError(f"{runs[0]} is no benchmark, folder or file, so -m has nothing to run")
    gate.check(comparing=True)
    if not (remote or workspace or gate.baselines or gate.conditions):
        pair = _episodes(runs)
        if pair is not None:
            return pair
    # The first run is what the others are compared with.
    runs, gate.baselines = (*gate.baselines, *(name for name in runs if name not in gate.baselines)), []
    compared = _there(runs, metric, workspace) if remote or workspace else _here(runs, metric)
    found = compared.found
    check_run_metrics(gate.conditions, found.runs)
    judged = gate.judge_comparison(compared.samples, found)
    judged.write("mesocosm compare", lambda: markdown(found))
    if chosen.json:
        emit({**document(found, compared.names), "gate": judged.document()})
    elif str(gate.markdown) != "-":
        tell(found, compared.names, chosen)
        if gate.conditions:
            click.echo()
        for line in judged.lines():
            click.echo(line)
        if flipped:
            for line in every_flipped(found, compared.names):
                click.echo(line)
        click.echo(f"\n  {compared.page()}")
    if any(group.pairs for group in found.groups):
        return judged.code(0)
    click.echo("error: none of these runs can be compared with another one of them", err=True)
    return judged.code(NOTHING_COMPARED)


def _episodes(names: Sequence[str]) -> int | None:
    """Compare two episodes of this machine; None if the names are not those of two episodes."""
    from mesocosm.cli.episode_pair import compare_pair, named_episodes

    try:
        store = command_store()
    except UnknownName:  # there are no results here, which is told as of runs
        return None
    try:
        for name in names:
            find_run(store, name)
    except UnknownName:
        found = named_episodes(store, names)
        return None if found is None else compare_pair(store, *found, differing=NOTHING_COMPARED)
    return None


def _here(runs: Sequence[str], metric: str) -> _Compared:
    """Compare runs of this machine."""
    from mesocosm.cli.comparison_report import compare_path
    from mesocosm.cli.viewer_link import page
    from mesocosm.engine.comparison.runs import compare as compared

    try:
        store = command_store()
        ids = [find_run(store, name).id for name in runs]
    except UnknownName as error:
        raise UnknownName(
            f"{error}. Only this machine was looked at; --remote compares runs of your workspace on a server"
        ) from error
    found = compared(store.runs.get, store.episodes.score_rows, ids, metric)
    return _Compared(
        found, store.episodes, store.episodes.task_ids, lambda: page(compare_path(found), store, options())
    )


def _there(runs: Sequence[str], metric: str, workspace: str | None) -> _Compared:
    """Compare runs of a workspace on a server."""
    from mesocosm.cli.bench.remote import RemoteSamples
    from mesocosm.cli.comparison_report import compare_path
    from mesocosm.cli.eval.on_server import WorkspaceRun
    from mesocosm.cli.remote.comparison import RemoteScores, compare_there

    own = [WorkspaceRun.of(name, workspace) for name in runs]
    client = own[0].client
    scores = RemoteScores(client)
    found = compare_there([one.run for one in own], scores, metric)
    page = f"{client.base_url.rstrip('/')}{compare_path(found)}"
    return _Compared(found, RemoteSamples(client), scores.task_names, lambda: page)
