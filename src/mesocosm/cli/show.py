"""`mesocosm run show`: one run on one screen."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.remote.connection import Remote
from mesocosm.cli.remote.locate import elsewhere, remote_option
from mesocosm.cli.render import (
    abandoned,
    counted,
    duration,
    emit,
    failure_lines,
    failures_of,
    interval,
    metric_rows,
    money,
    number,
    plain,
    remarks,
    state,
    table,
    tokens,
    when,
    worked,
)
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UsageError
from mesocosm.core.one_line import answer_text, question_text
from mesocosm.core.run import Run, RunStatus, Selection
from mesocosm.interop.record import number_document

if TYPE_CHECKING:
    from mesocosm.api.results import Episode as ReadEpisode
    from mesocosm.client.client import Client
    from mesocosm.core.episode import Episode
    from mesocosm.engine.results import Passes
    from mesocosm.store import Store

MOST_STATED = 12
"""Maximum number of numbers of an imported file that are listed."""
LONGEST = 300
"""Maximum characters of a question or an answer in a list."""
MOST_SEEDS = 12
"""Maximum number of seeds, or ranges of them, that are listed; a run may have thousands."""


@click.command(cls=Remote)
@click.argument("run_id", metavar="RUN")
@click.option("--wrong", is_flag=True, help="Instead list the episodes that were graded as wrong.")
@click.option("--failed", is_flag=True, help="Instead list the episodes that failed, with the reason.")
@click.option("--by", metavar="LABEL", default="", help="Instead show the score for each value of a label, or `trial`.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Episodes that are listed.")
@remote_option
def show(run_id: str, by: str, limit: int, *, wrong: bool, failed: bool, remote: bool) -> None:
    """Show a run: numbers with intervals, what is missing, configuration, warnings."""
    if sum([wrong, failed, bool(by)]) > 1:
        raise UsageError("--wrong, --failed and --by contradict each other; choose one")
    there = elsewhere(run_id, remote=remote)
    if there is not None and (wrong or failed or by):
        raise UsageError(f"run {run_id} is on a server; --wrong, --failed and --by are for runs of this machine")
    if there is not None:
        _show_remote(*there)
    elif wrong or failed:
        _show_episodes(run_id, "fail" if wrong else "", limit)
    elif by:
        _show_slices(run_id, by)
    else:
        _show_local(run_id)


def _show_episodes(run_id: str, outcome: Literal["fail", ""], limit: int) -> None:
    """List wrong episodes, or without an outcome failed ones: what was asked, what came, what would have been right."""
    from mesocosm.api.results import Episode as ReadEpisode
    from mesocosm.api.results import Run as ReadRun
    from mesocosm.core.episode import EpisodeStatus
    from mesocosm.interop.replay import episode_document
    from mesocosm.store.filters import EpisodeFilter

    store = command_store()
    run = find_run(store, run_id)
    wanted = EpisodeFilter(outcome=outcome, statuses=() if outcome else (EpisodeStatus.FAILED,))
    page = store.episodes.search(run.id, wanted, limit=limit)
    if options().json:
        emit({"items": [episode_document(one) for one in page.items], "next": page.cursor})
        return
    read = ReadRun(store, run)
    for episode in page.items:
        trial = f" trial {episode.trial + 1}" if episode.trial else ""
        click.secho(f"{episode.task_id}{trial}  {', '.join(_scores(episode, run))}", bold=True)
        for line in _facts(ReadEpisode(read, episode), episode):
            click.echo(f"  {line}")
    if not page.items:
        click.echo("no episode was graded as wrong" if outcome else "no episode failed")
    elif page.cursor:
        click.echo(f"and more: --limit {limit * 10}")


def _scores(episode: "Episode", run: Run) -> Iterator[str]:
    """Yield the score that ranks, and those that say something else: most benchmarks give one again for each part."""
    ranking = next((metric.score for metric in run.terms.metrics if metric.primary), "")
    scores = sorted(episode.scores, key=lambda one: one.name != ranking)
    for one in scores:
        if one is scores[0] or one.value != scores[0].value:
            yield f"{one.name} {number(one.value)}"


def _facts(read: "ReadEpisode", episode: "Episode") -> Iterator[str]:
    """Yield what is known of an episode: its question, answer, right answer, why it was graded so, its failure."""
    texts = (question_text(read.input), answer_text(read.answer), answer_text(read.expected))
    for name, text in zip(("input", "answer", "expected"), texts, strict=True):
        if words := " ".join(text.split()):
            yield f"{name:<9} {_cut(words)}"
    reasons = dict.fromkeys(one.explanation.splitlines()[0] for one in episode.scores if one.explanation)
    if episode.why:
        reasons = {episode.why: None}
    yield from (f"{'why':<9} {reason}" for reason in reasons)
    if episode.failure is not None:
        yield f"{'failure':<9} {episode.failure.cause}: {episode.failure.message}"


def _cut(text: str) -> str:
    """Return a text of one line without its middle: the question often follows what it is about."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"


def _show_slices(run_id: str, by: str) -> None:
    """Show the score for each value of a label."""
    from mesocosm.engine.slices import slices

    store = command_store()
    run = find_run(store, run_id)
    found = slices(run, store.episodes, by)
    if options().json:
        items = [
            {"value": one.value, "samples": one.samples, "score": number_document(one.reward)} for one in found.slices
        ]
        emit({"items": items, "next": None, "by": by, "more": found.more})
        return
    rows = [
        [
            one.value or "–",
            number(one.reward.value),
            interval(one.reward.low, one.reward.high, weak=one.reward.weak),
            counted(one.reward),
        ]
        for one in found.slices
    ]
    table([by, "score", "95 % interval", "n"], rows, options(), right=(1,))
    if found.more:
        click.echo(f"and {found.more} more values")


def _show_remote(client: "Client", run_id: str) -> None:
    from mesocosm.cli.remote.watch import print_run
    from mesocosm.compat.swecc.mapping import older_run

    found = client.runs.get(run_id)
    run = older_run(found)
    if options().json:
        imported = {} if found.imported is None else {"imported": plain(found.imported)}
        emit({"run": {**plain(run), **imported}})
    else:
        print_run(run, found)


def _show_local(run_id: str) -> None:
    from mesocosm.cli.eval.report import tries
    from mesocosm.engine.metrics import so_far
    from mesocosm.interop.record import run_document

    store, chosen = command_store(), options()
    run = find_run(store, run_id)
    if not run.metrics:
        run.metrics = so_far(run, store)
    if chosen.json:
        passes = [
            {"k": one.k, "pass_at_k": asdict(one.at), "pass_hat_k": asdict(one.hat)} for one in repeated(run, store)
        ]
        emit({"run": run_document(run), "failures": failures_of(run, store), "passes": passes})
        return
    click.echo(f"{run.benchmark_title} ({run.benchmark} {run.benchmark_version}) · {run.model} · {state(run)}")
    table(["metric", "value", "95 % interval", "n", "method"], metric_rows(run.metrics), chosen, right=(1, 3))
    for line in [*remarks(run), *failure_lines(run, store)]:
        click.echo(line)
    tries(repeated(run, store), chosen, of="tasks")
    table(["", ""], _rows(run, store), chosen)
    if run.counts.pending and run.status is not RunStatus.FINISHED and state(run) != RunStatus.RUNNING:
        click.echo(f"\n{plural(run.counts.pending, 'episode')} pending; continue with: mesocosm run resume {run.id}")


def repeated(run: Run, store: "Store") -> "Sequence[Passes]":
    """Return pass@k and pass^k of a run that tried tasks several times."""
    from mesocosm.engine.results import results

    found = results(run, store.episodes, run.metrics).passes if run.spec.selection.trials > 1 else ()
    return found if len(found) > 1 else ()


def _rows(run: Run, store: "Store") -> list[list[str]]:
    counts, model, selection = run.counts, run.spec.model, run.spec.selection
    outcomes = (
        f"{counts.completed:,} completed, {counts.truncated:,} truncated, {counts.timeout:,} timeout, "
        f"{counts.failed:,} failed"
    )
    trials = f", {selection.trials} trials each" if selection.trials > 1 else ""
    settings = f"temperature {model.temperature:g}, at most {model.max_tokens} tokens a reply"
    rows = [
        ["run", run.id],
        ["episodes", f"{counts.done:,} of {counts.planned:,} ({outcomes})"],
        *([["framework", framework]] if (framework := framework_words(run)) else []),
        *([["parameters", parameters]] if (parameters := parameter_words(run)) else []),
        ["seeds", seeds(selection) + trials],
        ["agent", ", ".join([run.agent, *(f"{name} {value}" for name, value in run.spec.agent.options.items())])],
        # A file that was imported does not tell the settings of its model.
        *([] if run.kind == "imported" else [["model", settings]]),
        *([["server", server]] if (server := _server(run)) else []),
        *([["played on", places]] if (places := _places(run)) else []),
        *(["scan", line] for line in _scans(run)),
        *(["fork", line] for line in _fork(run)),
        *([["in the file", told]] if (told := _stated(run)) else []),
        ["started", f"{when(run.started_at)}, took {duration(worked(run))}"],
        ["tokens", f"{tokens(run.usage.total)} in {run.usage.calls:,} calls, {money(run.usage.cost_usd)}"],
        ["signature", f"{run.signature} (attempt {run.attempt})"],
        ["content", run.benchmark_digest],
        ["chain", _chain(run)],
    ]
    if run.tags:
        rows.append(["tags", ", ".join(run.tags)])
    if run.holder is not None:
        rows.append(["held by", f"{run.holder}{', which is gone' if abandoned(run) else ''}"])
    return rows


def framework_words(run: Run) -> str:
    """Return the framework that a benchmark of others is of, with the versions of its packages."""
    card = run.info.get("card")
    if not isinstance(card, dict) or not card.get("framework"):
        return ""
    packages, licence = card.get("packages"), card.get("licence")
    named = [f"{name} {version}" for name, version in packages.items()] if isinstance(packages, dict) else []
    words = ", ".join([*named, *([f"licence {licence}"] if licence else [])])
    return f"{card['framework']} ({words})" if words else str(card["framework"])


def parameter_words(run: Run) -> str:
    """Return the parameters of a benchmark of others, as they were given."""
    if not framework_words(run):
        return ""
    return ", ".join(f"{name} {value}" for name, value in run.spec.benchmark.options.items())


def _server(run: Run) -> str:
    """Return the address and model names of the server that answered a run, and of its judge's."""
    known = run.provenance.get("server", {})
    servers = []
    for role, of in (("", ""), ("judge_", "judge: ")):
        address, served = known.get(f"{role}address", ""), known.get(f"{role}served", "")
        words = f"{address or 'an unknown address'}, where the model calls itself {served}" if served else address
        if words:
            servers.append(of + words)
    return "; ".join(servers)


def _scans(run: Run) -> Iterator[str]:
    """Yield what models were asked about its transcripts, by whom, and what that cost."""
    from mesocosm.engine.scanning import scans_of

    for name, scan in scans_of(run).items():
        asked_in = ", ".join(map(str, scan.get("runs", ())))
        yield f"{name}: {scan.get('question')} {scan.get('model')}, {money(scan.get('cost_usd'))}, run {asked_in}"


def _fork(run: Run) -> Iterator[str]:
    """Yield where it was forked."""
    found = run.provenance.get("fork")
    if isinstance(found, dict):
        edited = ", with another action there" if found.get("edited") else ""
        yield f"of episode {found.get('episode')} (run {found.get('run')}) at step {found.get('step')}{edited}"


def _stated(run: Run) -> str:
    """Return the numbers that the file of an imported run states, as it states them."""
    found = run.provenance.get("headline")
    stated = found.items() if isinstance(found, dict) else ()
    words = [f"{name} {number(value) if isinstance(value, int | float) else '–'}" for name, value in stated]
    return ", ".join(words[:MOST_STATED]) + (", …" if len(words) > MOST_STATED else "")


def _places(run: Run) -> str:
    """Return how many episodes which machine played, if the run's own process did not play them."""
    return ", ".join(f"{place}: {count:,}" for place, count in run.ran_on.items())


def _chain(run: Run) -> str:
    """Return the head of the checksum chain over the finished episodes; `mesocosm verify` recomputes it."""
    length, _, head = run.chain.partition(":")
    done = run.counts.done
    if not head:
        return "none: its episodes were recorded without checksums" if done else "–"
    left = f", {done - int(length):,} recorded without a checksum" if done > int(length) else ""
    return f"{head} over {plural(int(length), 'episode')}{left}"


def seeds(selection: Selection) -> str:
    """Return the seeds of a run, with consecutive ones as a range."""
    if selection.seeds is None:
        return f"0–{selection.count - 1}" if selection.count else "all"
    pieces = [f"{first}" if first == last else f"{first}–{last}" for first, last in _ranges(selection.seeds)]
    return ", ".join(pieces[:MOST_SEEDS]) + (", …" if len(pieces) > MOST_SEEDS else "")


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for one in numbers:
        if found and one == found[-1][1] + 1:
            found[-1] = (found[-1][0], one)
        else:
            found.append((one, one))
    return found
