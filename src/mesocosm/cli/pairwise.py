"""`mesocosm pairwise`: let a model judge the answers of two runs against each other."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import SETTINGS, Count, FiniteFloat, MesocosmCommand, options, plural
from mesocosm.cli.evaluating import INTERRUPTED, WIDTH, arguments_of, command
from mesocosm.cli.render import emit, metric_rows, money, table
from mesocosm.cli.results import command_store, find_run
from mesocosm.cli.scan import REASONS, ask_pending, limited, reasons_of
from mesocosm.cli.viewer_link import page
from mesocosm.core.failure import RunLeased, UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.store import Store

_CHARACTERS = 30_000
"""Most characters of the task and of each answer that a model is sent."""


@click.command(cls=MesocosmCommand)
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("-r", "--rubric", "text", required=True, metavar="TEXT|@FILE", help="What makes an answer better.")
@click.option("-m", "--model", metavar="MODEL", help="The model that judges.")
@click.option("-n", "--limit", type=Count(), metavar="N", help="Only the first N pairs.")
@click.option("--budget", type=FiniteFloat(min=0, min_open=True), metavar="USD", help="Stop there; keep what is done.")
@click.option("--parallel", type=click.IntRange(min=1), help="How many at a time.")
@click.option("--fresh", is_flag=True, help="Ask again, whatever was judged before.")
@click.option("--retry-failed", is_flag=True, help="Repeat what infrastructure failed.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Anything else: {SETTINGS}.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
def pairwise(first: str, second: str, *, text: str, **given: Any) -> int:
    """Let a model judge which of two runs answers better, task by task.

    Every pair is shown in both orders, because judges prefer a position. The win rate is that of the second run: 1 for
    a pair that it wins in both orders, 0 for one that it loses, 0.5 for ties and verdicts that change with the order.
    `consistent` is how often they do not, `shown_first_wins` how often the answer that is shown first wins, 0.5 without
    a preference. Intervals are clustered by task. The same command again continues; nothing is asked twice.

    \b
    mesocosm pairwise RUN RUN -r 'Correct, complete, and no longer than it needs to be.' -m openai/gpt-5-mini
    mesocosm pairwise RUN RUN -r @rubric.md -m openai/o5 -n 100 --budget 2
    """
    from mesocosm.api.experiments import Arguments
    from mesocosm.api.pairing import pair_work, pairs_of
    from mesocosm.cli.eval.rubric import read_rubric
    from mesocosm.core.model import ModelName
    from mesocosm.core.pair_question import PairQuestion

    store = command_store()
    runs = find_run(store, first), find_run(store, second)
    if runs[0].id == runs[1].id:
        raise UsageError("both are the same run; name two runs of the same tasks")
    for run in runs:
        if store.leases.active(run):
            raise RunLeased(f"run {run.id} is going on in another process; compare it when it has ended")
    models = [ModelName.parse(run.model).shown() if run.model else "" for run in runs]
    names = models if all(models) and models[0] != models[1] else [run.id for run in runs]
    question = PairQuestion(read_rubric(text), *names)
    tasks = pairs_of(store, runs, given.pop("limit"))
    shared = {"limit": None, "trials": None, "judge": None, "name": "", "tags": (), **given}
    arguments = Arguments(**limited(arguments_of(shared)[0]), model=given["model"])
    work = pair_work(store, runs, question, tasks, arguments, _CHARACTERS)
    found, interrupted = ask_pending(work, given)
    if found is None:
        from mesocosm.cli.signals import NOTHING_STORED

        raise KeyboardInterrupt(NOTHING_STORED)
    return _tell(store, store.runs.get(found), question.a, question.b, interrupted=interrupted)


def _tell(store: "Store", found: "Run", a: str, b: str, *, interrupted: bool) -> int:
    """Print the numbers, and return the exit code."""
    from mesocosm.cli.session import exit_code
    from mesocosm.core.pair_question import TIE, WIN_RATE

    code = INTERRUPTED if interrupted else exit_code(found)
    verdicts = Counter(_verdicts(store, found, a, b))
    missing = verdicts.pop("", 0)
    if options().json:
        from mesocosm.interop.record import run_document

        counts = {"wins": verdicts[b], "ties": verdicts[TIE], "losses": verdicts[a], "not_judged": missing}
        emit({"first": a, "second": b, **counts, "run": run_document(found)})
        return code
    click.echo(f"{b} against {a}, judged by {found.model}")
    click.echo(f"{verdicts[b]:,} won, {verdicts[TIE]:,} tied, {verdicts[a]:,} lost")
    table(["metric", "value", "95 % interval", "n", "method"], metric_rows(found.metrics), options(), right=(1, 3))
    if missing:
        reasons = Counter(reasons_of(store, found, WIN_RATE)).most_common(REASONS)
        click.echo(f"not judged: {missing:,} ({', '.join(f'{reason} {count:,}' for reason, count in reasons)})")
    if found.counts.pending:
        more = "; a higher --budget continues" if "budget" in found.error else "; the same command continues"
        click.echo(f"{plural(found.counts.pending, 'pair')} pending: {found.error or found.status}{more}")
    click.echo(f"{'verdicts':<{WIDTH}}{command(f'mesocosm run show {found.id}')}, {money(found.usage.cost_usd)}")
    click.echo(f"{'browser':<{WIDTH}}{page(f'/runs/{found.id}', store, options())}")
    return code


def _verdicts(store: "Store", found: "Run", a: str, b: str) -> list[str]:
    """Return for each finished pair who wins it; empty for one that could not be judged."""
    from mesocosm.core.episode import FINISHED
    from mesocosm.core.pair_question import TIE, WIN_RATE

    words: list[str] = []
    cursor: str | None = None
    while True:
        listed = store.episodes.list(found.id, cursor=cursor)
        for episode in listed.items:
            score = next((one for one in episode.scores if one.name == WIN_RATE), None)
            if episode.status in FINISHED:
                value = None if score is None else score.value
                words.append("" if value is None else b if value > 0.5 else a if value < 0.5 else TIE)
        cursor = listed.cursor
        if cursor is None:
            return words
