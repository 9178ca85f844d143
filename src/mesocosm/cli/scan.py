"""`mesocosm scan`: let a model answer a question about the transcript of every episode of a run."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import SETTINGS, Count, FiniteFloat, options, plural
from mesocosm.cli.evaluating import INTERRUPTED, WIDTH, EvaluationProgress, arguments_of, command
from mesocosm.cli.remote.connection import Remote, document, member_client, workspace_option
from mesocosm.cli.render import emit, metric_rows, money, table, tokens
from mesocosm.cli.results import command_store, find_run
from mesocosm.cli.viewer_link import page
from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import RunLeased, UsageError

if TYPE_CHECKING:
    from mesocosm.api.running import Work
    from mesocosm.core.run import Run
    from mesocosm.core.scan_question import ScanQuestion
    from mesocosm.interop.scan_episodes import ScanEstimate
    from mesocosm.store import Store

REASONS = 5
"""Most reasons of answers that do not count that are printed."""


@click.command(
    cls=Remote,
    own=(
        *("--ask", "--model", "--labels", "--number", "--where", "--limit", "--seed", "--budget", "--name"),
        *("--context", "--dry-run", "--fresh", "--set", "--remote"),
    ),
)
@click.argument("run_id", metavar="RUN")
@click.option("--ask", "question", required=True, metavar="TEXT", help="The question about each transcript.")
@click.option("-m", "--model", metavar="MODEL", help="The model that reads and answers.")
@click.option("--labels", default="", metavar="A,B,C", help="Answers to choose from  [yes,no].")
@click.option("--number", is_flag=True, help="The answer is a number from 0 to 1.")
@click.option(
    "--where",
    multiple=True,
    metavar="WHAT",
    help="Only such episodes: wrong, passed, failed, missing; LABEL=VALUE, cause=, mistake=, behaviour=, text=.",
)
@click.option("-n", "--limit", type=Count(), metavar="N", help="Only a random N of them.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Which random N: the same seed draws the same  [0]."
)
@click.option("--budget", type=FiniteFloat(min=0, min_open=True), metavar="USD", help="Stop there; keep what is done.")
@click.option("--parallel", type=click.IntRange(min=1), help="How many at a time.")
@click.option("--name", default="", help="What its scores are called after scan:  [the first words of the question].")
@click.option(
    "--context", type=click.IntRange(min=100), metavar="TOKENS", help="Most of a transcript that is sent  [25000]."
)
@click.option("--dry-run", is_flag=True, help="Only say what it may cost.")
@click.option("--fresh", is_flag=True, help="Ask again, whatever was answered before.")
@click.option("--retry-failed", is_flag=True, help="Repeat what infrastructure failed.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Anything else: {SETTINGS}.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@workspace_option
@click.option("--remote", is_flag=True, help="Let the workers of a server ask, about a run there, by name or id.")
def scan(
    run_id: str,
    *,
    question: str,
    labels: str,
    number: bool,
    name: str,
    dry_run: bool,
    workspace: str | None,
    remote: bool,
    **given: Any,
) -> int:
    """Let a model answer a question about the transcript of each episode of RUN, with a quote that shows it.

    An answer counts only if it quotes words that occur in the step it names; what does not count is not measured, and
    never a no. The answers become scores and labels of the run, beside the scanner's model, question and cost. The same
    command again continues; nothing is asked twice.

    \b
    mesocosm scan last --ask 'Does the model refuse?' -m openai/gpt-5-mini
    mesocosm scan last --ask 'What goes wrong first?' --where wrong \\
      --labels misread,slip,wrong-plan --name cause -m openai/o5 --budget 2
    mesocosm run show last --by scan:cause

    With --remote the workers of a server ask a model of the server about a run there; the budget, the estimate and the
    scores are the same.
    """
    from mesocosm.api.experiments import Arguments, chosen_model
    from mesocosm.api.scanning import scan_work
    from mesocosm.core.model import ModelName
    from mesocosm.core.scan_question import ScanQuestion, slug
    from mesocosm.interop.scan_episodes import CHARACTERS, PER_TOKEN, estimate, tasks_to_scan
    from mesocosm.models.catalogue import is_local
    from mesocosm.models.prices import price

    words = tuple(word.strip() for word in labels.split(",")) if labels else ()
    if remote or workspace:
        own = {"question": question, "name": name, "answers": list(words), "number": number}
        return _there(run_id, workspace, own, given, dry_run=dry_run)
    store = command_store()
    run = find_run(store, run_id)
    if store.leases.active(run):
        raise RunLeased(f"run {run.id} is going on in another process; scan it when it has ended")
    asked = ScanQuestion(name.strip() or slug(question), question, words, number)
    limit, context, seed = given.pop("limit"), given.pop("context"), given.pop("seed")
    shared = {"limit": None, "trials": None, "judge": None, "name": "", "tags": (), **given}
    arguments = Arguments(**limited(arguments_of(shared)[0]), model=given["model"])
    most = CHARACTERS if context is None else context * PER_TOKEN
    asked.check()
    model = arguments.model_settings(chosen_model(arguments))
    tasks = tasks_to_scan(store, run, given["where"], limit, seed)
    work = scan_work(store, run, asked, tasks, arguments, most)
    parsed = ModelName.parse(model.name)
    known = price(parsed, local=is_local(parsed), elsewhere=bool(parsed.base_url))
    expected = estimate(store, tasks, known, most)
    click.echo(_estimated(expected, model.name, given["budget"]), err=not dry_run)
    if dry_run:
        return 0
    found, interrupted = ask_pending(work, given)
    if found is None:
        from mesocosm.cli.signals import NOTHING_STORED

        raise KeyboardInterrupt(NOTHING_STORED)
    return _tell(store, run, store.runs.get(found), asked, interrupted=interrupted)


def _there(run_id: str, workspace: str | None, own: dict[str, Any], given: dict[str, Any], *, dry_run: bool) -> int:
    """Let a server scan a run, of a workspace if one is given, and print the run that asks."""
    from mesocosm.interop.scan_episodes import ScanEstimate
    from mesocosm.server.schemas.scan import ScanInput

    here = {"--context": "context", "--fresh": "fresh", "--retry-failed": "retry_failed", "--set": "settings"}
    if wrong := next((option for option, key in here.items() if given[key]), None):
        raise UsageError(f"{wrong} is for scans on this machine; leave it out with --remote")
    client = member_client()
    run = client.runs.get(run_id) if workspace is None else client.runs.of_workspace(workspace, run_id)
    shared = {name: given[name] for name in ("model", "limit", "seed", "parallel")}
    asked = document(ScanInput, {**own, **shared, "where": list(given["where"]), "budget_usd": given["budget"]})
    found = client.runs.scan_forecast(run.id, asked)
    expected = ScanEstimate(found.episodes, found.prompt_tokens, found.completion_tokens, found.usd)
    click.echo(_estimated(expected, found.model, found.budget_usd), err=not dry_run)
    if dry_run:
        return 0
    scan_run = client.runs.scan(run.id, asked)
    if options().json:
        emit(scan_run.model_dump(mode="json"))
    else:
        click.echo(f"scan:{found.name} of run {run.id} is asked in run {scan_run.id}")
        click.echo(f"{'follow':<{WIDTH}}mesocosm run watch {scan_run.id}")
    return 0


def limited(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of `evaluate` with their limits as such."""
    from mesocosm.api.definitions import Limits

    return {**arguments, "limits": Limits(**arguments["limits"])} if "limits" in arguments else arguments


def _estimated(found: "ScanEstimate", model: str, budget: float | None) -> str:
    if found.cost_usd is None:
        cost = "the price of this model is not known"
    else:
        cost = f"about {money(found.cost_usd)}" if found.cost_usd else "free"
    words = (
        f"{plural(found.episodes, 'episode')}, about {tokens(found.prompt)} tokens to read and "
        f"{tokens(found.completion)} to write by {model}: {cost}"
    )
    if budget is not None and found.cost_usd is not None and found.cost_usd > budget:
        words += f"; the budget of {money(budget)} will end it before"
    return words


def ask_pending(work: "Work", given: dict[str, Any]) -> tuple[str | None, bool]:
    """Ask what is pending; return the id of the scan's run (None if it never began), and whether it was interrupted."""
    from mesocosm.api.running import Wishes, run_work
    from mesocosm.api.waiting import Interrupted, waited

    chosen = options()
    progress: Any = False if chosen.quiet or given["quiet"] else EvaluationProgress(chosen, "episode")
    place = chosen.database() or str(chosen.results())
    wishes = Wishes(store=place, fresh=given["fresh"], retry_failed=given["retry_failed"], progress=progress)
    try:
        return waited(lambda control: run_work(work, wishes, control)).id, False
    except Interrupted as stopped:
        return next((run.id for run in stopped.runs), None), True
    except KeyboardInterrupt:
        return next(iter(progress.begun), None) if progress else None, True
    finally:
        if progress:
            progress.close()


def _tell(store: "Store", run: "Run", found: "Run", asked: "ScanQuestion", *, interrupted: bool) -> int:
    """Store the answers with the run, print them, and return the exit code."""
    from mesocosm.cli.session import exit_code
    from mesocosm.engine.scanning import add_scan, scans_of

    code = INTERRUPTED if interrupted else exit_code(found)
    if found.counts.done:
        run = add_scan(run.id, found, asked, store)
    metrics = [metric for metric in run.metrics if metric.name in asked.scores]
    reasons = Counter(reasons_of(store, found, asked.scores[0]))
    measured = found.counts.done - reasons.total()
    if options().json:
        from mesocosm.interop.record import number_document, run_document

        emit(
            {
                "run": run.id,
                "name": asked.name,
                "scan": dict(scans_of(run).get(asked.name, {})),
                "metrics": {metric.name: number_document(metric) for metric in metrics},
                "measured": measured,
                "not_measured": dict(reasons),
                "asked": run_document(found),
            }
        )
        return code
    click.echo(f"{asked.score} · {asked.text.strip()} · {found.model}")
    if measured:
        table(["answer", "value", "95 % interval", "n", "method"], metric_rows(metrics), options(), right=(1, 3))
    if reasons:
        why = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common(REASONS))
        click.echo(f"not measured: {reasons.total():,} of {found.counts.done:,} ({why})")
    if found.counts.pending:
        more = "; a higher --budget continues" if "budget" in found.error else "; the same command continues"
        click.echo(f"{plural(found.counts.pending, 'episode')} pending: {found.error or found.status}{more}")
    click.echo(f"{'asked in':<{WIDTH}}run {found.id}, {money(found.usage.cost_usd)}")
    if measured and asked.words:
        click.echo(f"{'by answer':<{WIDTH}}{command(f'mesocosm run show {run.id} --by {asked.score}')}")
    click.echo(f"{'browser':<{WIDTH}}{page(f'/runs/{run.id}', store, options())}")
    return code


def reasons_of(store: "Store", found: "Run", name: str) -> Iterator[str]:
    """Yield why an answer does not count, for each episode without the score `name`."""
    cursor: str | None = None
    while True:
        listed = store.episodes.list(found.id, cursor=cursor)
        for episode in listed.items:
            if episode.status not in FINISHED:
                continue
            score = next((one for one in episode.scores if one.name == name), None)
            if score is None or score.value is None:
                said = "" if score is None else score.explanation
                caused = str(episode.failure.cause).replace("_", " ") if episode.failure is not None else ""
                yield caused or re.split(r": | \(|; ", said)[0] or "no score"
        cursor = listed.cursor
        if cursor is None:
            return
