"""`mesocosm review`: rounds in which people judge episodes, and how far they agree with the graders."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import FiniteFloat, MesocosmGroup, options, plural
from mesocosm.cli.render import emit, interval, number, table, when
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import InvalidInput, Problem, UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.server.permissions.review_rounds import VisibleRound
    from mesocosm.server.schemas.review import AgreementDocument, IntervalDocument, PairDocument, RoundDocument

_DISPUTED = 10
"""Maximum number of listed disputed items."""


@click.group(cls=MesocosmGroup)
def review() -> None:
    """Let people judge episodes, and see how far they agree with each other and with graders and judges.

    People judge in the browser: mesocosm view, then Reviews.
    """


@review.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--sample", type=click.IntRange(1, 10_000), metavar="N", help="Draw N episodes at random  [all].")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, metavar="N", help="Seed of the drawing  [0].")
@click.option("--wrong", is_flag=True, help="Only episodes that did not pass.")
@click.option("--label", default="", metavar="NAME=VALUE", help="Only episodes whose task has this label.")
@click.option("--search", default="", metavar="TEXT", help="Only episodes with this text, as in run episodes.")
@click.option("--disputed-first", is_flag=True, help="Begin with those on which graders or people disagree.")
@click.option("--reviews", type=click.IntRange(1, 20), default=2, metavar="N", help="Verdicts for each episode  [2].")
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML or JSON file with [[labels]] and [guide]  [what went wrong first].",
)
@click.option("--name", default="", help="Name of the round  [what is reviewed].")
@click.option("--open", "shown", is_flag=True, help="Show model, grader and other verdicts to who has yet to judge.")
@click.option(
    "--bar", type=FiniteFloat(-1, 1), default=0.6, metavar="K", help="Lower end of kappa from which a judge fits [0.6]."
)
def create(
    runs: tuple[str, ...],
    *,
    sample: int | None,
    seed: int,
    wrong: bool,
    label: str,
    search: str,
    disputed_first: bool,
    reviews: int,
    labels: Path | None,
    name: str,
    shown: bool,
    bar: float,
) -> None:
    """Create a review round of episodes of one or more runs.

    \b
    mesocosm review create last --sample 40 --reviews 3
    """
    from pydantic import ValidationError

    from mesocosm.server.permissions.review_rounds import local_rounds
    from mesocosm.server.schemas.review import RoundInput

    store = command_store()
    fields: dict[str, Any] = {
        **(_schema(labels) if labels is not None else {}),
        "name": name,
        "runs": [find_run(store, one).id for one in runs],
        "filter": {"outcome": "fail" if wrong else "", "label": label, "q": search},
        "sample": sample,
        "seed": seed,
        "order": "disputed" if disputed_first else "drawn",
        "reviews": reviews,
        "blind": not shown,
        "bar": bar,
    }
    try:
        wanted = RoundInput.model_validate(fields)
    except ValidationError as error:
        problems = [Problem(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
        raise InvalidInput(str(labels or "the round"), problems) from None
    made = local_rounds(store).add(wanted)
    if options().json:
        emit(made)
        return
    click.echo(f"Created the round {made.name}: {made.drawn}, {plural(made.reviews, 'verdict')} each.")
    click.echo(f"  mesocosm view    and open /reviews/{made.id}")


def _schema(path: Path) -> dict[str, Any]:
    """Return labels and guide from a file. Raises UsageError."""
    import json
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}; write TOML or JSON with [[labels]] and [guide]") from None
    if not isinstance(found, dict) or set(found) - {"labels", "guide"} or not found:
        raise UsageError(f"{path} describes no labels; write [[labels]] with name, kind and options, and [guide]")
    return found


@review.command("list")
@click.option("--run", default="", metavar="RUN", help="Only rounds with episodes of this run.")
def list_(run: str) -> None:
    """List the review rounds, the newest first."""
    from mesocosm.server.permissions.review_rounds import local_rounds

    store = command_store()
    found = local_rounds(store).list(find_run(store, run).id if run else "").items
    if options().json:
        emit({"rounds": found})
        return
    if not found:
        click.echo("no review rounds; create one with: mesocosm review create RUN --sample 40", err=True)
        return
    rows = [
        [one.id[:13], one.name, one.drawn, f"{one.done}/{one.items * one.reviews}", _state(one), _at(one)]
        for one in found
    ]
    table(["id", "round", "episodes", "verdicts", "state", "created"], rows, options(), whole=(0, 3), spare=(1, 2))


@review.command()
@click.argument("round_id", metavar="ROUND")
def show(round_id: str) -> None:
    """Show the progress of a round, and how far people and graders agree.

    ROUND is its id, the beginning of one, or last.
    """
    found = _round(round_id).agreement()
    if options().json:
        emit(found)
        return
    made = found.round
    click.echo(f"{made.name}: {made.drawn}, {plural(made.reviews, 'verdict')} each, {_state(made)}")
    people = ", ".join(f"{one.name} {one.done}" for one in made.people)
    click.echo(f"{made.done} of {made.items * made.reviews} verdicts; {made.complete} of {made.items} complete")
    if people:
        click.echo(f"by {people}")
    _tell(found)


def _tell(found: "AgreementDocument") -> None:
    chosen = options()
    if found.pairs:
        click.echo(f"\nBetween people, over {plural(found.over, 'episode')}; alpha {_measured(found.alpha)}")
        table(["one", "other", "n", "agreement", "kappa", "95 % interval"], list(map(_line, found.pairs)), chosen)
    if found.judges:
        click.echo(f"\nPeople with graders and judges; fit from a lower end of {found.round.bar:g}")
        rows = [[*_line(judge.pair)[1:], judge.verdict] for judge in found.judges]
        table(["grader", "n", "agreement", "kappa", "95 % interval", "fit"], rows, chosen, whole=(0,), spare=(5,))
        for judge in found.judges:
            if judge.bias is not None and judge.bias.value:
                word = "lenient" if judge.bias.value > 0 else "strict"
                corrected = judge.uncorrected or f"corrected {_measured(judge.corrected)}, alone {number(judge.rate)}"
                click.echo(f"{judge.pair.other} is {word} by {_measured(judge.bias)}; {corrected}")
    disputed = [item for item in found.items if item.disputed]
    if disputed:
        click.echo(f"\n{plural(len(disputed), 'disputed episode')}")
        rows = [
            [str(item.number), item.question, ", ".join(f"{one.author} {one.answer}" for one in item.verdicts)]
            for item in disputed[:_DISPUTED]
        ]
        table(["item", "question", "verdicts"], rows, chosen, whole=(0, 2), spare=(1,))


@review.command()
@click.argument("round_id", metavar="ROUND")
@click.option("--format", "kind", type=click.Choice(["csv", "jsonl"]), default="csv", help="csv or jsonl  [csv].")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="File  [standard output].")
def export(round_id: str, kind: Any, out: Path | None) -> None:
    """Export the verdicts of a round, also those that were replaced: one line each, the oldest first."""
    from mesocosm.interop.verdicts import verdict_lines

    lines = verdict_lines(_round(round_id).export(), kind)
    if out is None:
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    draft = out.with_name(f".{out.name}.part")
    try:
        with draft.open("wb") as file:
            file.writelines(lines)
        draft.replace(out)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{out} cannot be written: {error.strerror}; choose another file with -o") from None
    click.echo(f"wrote: {out}", err=True)


def _round(reference: str) -> "VisibleRound":
    from mesocosm.server.permissions.review_rounds import local_round, local_rounds

    store = command_store()
    if reference == "last":
        newest = local_rounds(store).list().items
        if not newest:
            raise UnknownName(f"there is no review round in {store.place} yet; create one with: mesocosm review create")
        reference = newest[0].id
    return local_round(store, reference)


def _state(made: "RoundDocument") -> str:
    return "closed" if made.closed_at else "done" if made.complete == made.items else "open"


def _at(made: "RoundDocument") -> str:
    return when(made.created_at.timestamp())


def _line(pair: "PairDocument") -> list[str]:
    if pair.kappa is None:
        return [pair.one, pair.other, str(pair.n), number(pair.observed), "–", pair.why]
    return [
        pair.one,
        pair.other,
        str(pair.n),
        number(pair.observed),
        number(pair.kappa.value),
        interval(pair.kappa.low, pair.kappa.high, weak=pair.kappa.weak) or pair.why,
    ]


def _measured(found: "IntervalDocument | None") -> str:
    return "–" if found is None else f"{number(found.value)} {interval(found.low, found.high, weak=found.weak)}".strip()
