"""`mesocosm parity`: a framework's own runner and ours, on the same recorded replies or actions."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit, number, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mesocosm.guests.parity import GuestSample, SamplePair
    from mesocosm.guests.replies import RecordedReplies

DIFFERENT = 1
_MOST = 20


@click.command(cls=MesocosmCommand)
@click.argument("source", metavar="KIND:SOURCE")
@click.option("--replies", type=click.Path(path_type=Path), help="File with recorded replies.")
@click.option("--actions", type=click.Path(path_type=Path), help="File with recorded actions, for environments.")
@click.option("--python", default="", metavar="PATH", help="Interpreter with the framework  [one that fits].")
@click.option("-P", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter; TOML, else text.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="The first N tasks  [all].")
@click.option("--trials", type=click.IntRange(min=1), default=1, help="Play each task so often  [1].")
def parity(
    source: str,
    replies: Path | None,
    actions: Path | None,
    python: str,
    params: tuple[str, ...],
    limit: int | None,
    trials: int,
) -> int:
    """Let a framework's own runner and ours play what was recorded, and compare every score.

    A file of replies has a JSON object a line: {"asked": last message, "reply": text}. One of actions, for environments
    that are played step by step, has {"seed": number, "actions": [...]}; every reward is compared. Exit 1 if a score
    differs.
    """
    from mesocosm.cli.settings import read_parameters
    from mesocosm.core.failure import UsageError
    from mesocosm.guests.kinds import guest_kind
    from mesocosm.guests.parity import paired

    given: dict[str, Any] = {**read_parameters(params), **({"python": python} if python else {})}
    kind = guest_kind(source.partition(":")[0])
    file = actions if kind.stepped else replies
    if file is None or (replies is not None and actions is not None):
        raise UsageError(
            f"{kind.title} plays recorded {'actions: --actions' if kind.stepped else 'replies: --replies'} FILE"
        )
    if kind.stepped and trials != 1:
        raise UsageError("--trials is for replies; repeat a line of the file instead")
    theirs, ours, first = (
        _acted(source, given, file, limit) if kind.stepped else _replied(source, given, file, limit, trials)
    )
    pairs = paired(theirs, ours)
    if options().json:
        emit(_document(source, pairs))
    else:
        _show(pairs, first)
    return 0 if all(pair.equal for pair in pairs) else DIFFERENT


def _replied(
    source: str, given: "Mapping[str, Any]", file: Path, limit: int | None, trials: int
) -> "tuple[list[GuestSample], list[GuestSample], str]":
    """Play recorded replies on both sides; return theirs, ours and which score comes first. Raises UsageError."""
    from mesocosm.guests.replies import ReplyServer, read_replies

    recorded = read_replies(file)
    with ReplyServer(recorded) as address:
        theirs, first = _theirs(source, given, address, limit, trials)
        ours = _ours(source, given, address, limit, trials)
    _check_replies(recorded, file)
    return theirs, ours, first


def _acted(
    source: str, given: "Mapping[str, Any]", file: Path, limit: int | None
) -> "tuple[list[GuestSample], list[GuestSample], str]":
    """Play recorded actions on both sides, as `_replied` does. Raises UsageError, Incompatible, RunAborted."""
    import asyncio

    from mesocosm.core.failure import EpisodeError, RunAborted
    from mesocosm.core.run import BenchmarkRef
    from mesocosm.guests.kinds import guest_kind
    from mesocosm.guests.opening import open_guest
    from mesocosm.guests.parity import their_samples
    from mesocosm.guests.scripts import ALL_SEATS, GAMES, played, read_scripts, tasks_of
    from mesocosm.guests.stepped import SteppedGuest

    scripts = read_scripts(file)[:limit]
    kind, _, name = source.partition(":")
    options = {**(ALL_SEATS if kind in GAMES else {}), **given}
    guest = open_guest(guest_kind(kind), BenchmarkRef(kind, name, options))
    assert isinstance(guest, SteppedGuest)

    async def ours() -> "list[GuestSample]":
        try:
            return await played(guest, scripts, names, tasks)
        finally:
            await guest.close()

    try:
        tasks = tasks_of(guest, scripts)
        names = [f"{place} {task.id}" for place, task in enumerate(tasks, 1)]
        click.echo(f"{guest.kind.title} plays {source}", err=True)
        told = guest.scripted([{"seed": one.seed, "row": one.row, "actions": one.actions} for one in scripts])
        theirs = their_samples(told, names)
    except EpisodeError as error:
        said = f"\n{error.detail or error.stderr}".rstrip()
        raise RunAborted(f"the loop of {guest.kind.title} failed: {error}{said}") from error
    click.echo(f"mesocosm plays {source}", err=True)
    return theirs, asyncio.run(ours()), "reward"


def _theirs(
    source: str, given: "Mapping[str, Any]", address: str, limit: int | None, trials: int
) -> "tuple[list[GuestSample], str]":
    """Play with the framework's own runner; return also which score comes first.

    Raises UsageError, Incompatible, RunAborted.
    """
    import asyncio

    from mesocosm.core.failure import EpisodeError, RunAborted
    from mesocosm.core.run import BenchmarkRef
    from mesocosm.guests.kinds import guest_kind
    from mesocosm.guests.opening import open_guest
    from mesocosm.guests.parity import their_samples
    from mesocosm.guests.replies import KEY, MODEL

    kind, _, name = source.partition(":")
    guest = open_guest(guest_kind(kind), BenchmarkRef(kind, name, dict(given)))
    try:
        click.echo(f"{guest.kind.title} plays {source}", err=True)
        samples = guest.original(address, KEY, MODEL, limit, trials)
        first = next((score.name for sample in samples for score in sample.scores), "")
        return their_samples(samples, [task.id for task in guest.all_tasks]), first
    except EpisodeError as error:
        said = f"\n{error.detail or error.stderr}".rstrip()
        raise RunAborted(f"the runner of {guest.kind.title} failed: {error}{said}") from error
    finally:
        asyncio.run(guest.close())


def _ours(source: str, given: "Mapping[str, Any]", address: str, limit: int | None, trials: int) -> "list[GuestSample]":
    """Play as a run of ours, whose results are not kept."""
    from mesocosm.api.evaluate import evaluate
    from mesocosm.guests.parity import GuestSample
    from mesocosm.guests.replies import MODEL

    click.echo(f"mesocosm plays {source}", err=True)
    with TemporaryDirectory(prefix="mesocosm-") as folder:
        run = evaluate(
            source,
            model=f"openai/{MODEL}@{address}",
            params=given,
            limit=limit,
            trials=trials,
            store=folder,
            progress=False,
        )
        return [
            GuestSample(episode.task, episode.trial, dict(episode.scores), episode.error) for episode in run.episodes()
        ]


def _check_replies(recorded: "RecordedReplies", path: Path) -> None:
    from mesocosm.core.failure import UsageError

    if not recorded.asked:
        raise UsageError("no model was asked, so nothing was compared")
    if recorded.unknown:
        asked = list(dict.fromkeys(recorded.unknown))
        raise UsageError(
            f"{path} has no reply to {plural(len(asked), 'question')} of {recorded.asked:,}, so nothing was compared; "
            f"the first: {asked[0]!r}"
        )


def _show(pairs: "Sequence[SamplePair]", first: str) -> None:
    """Print the score `first` of each sample on both sides, then every difference."""
    rows = []
    for pair in pairs:
        cells = [_cell(side, first) for side in (pair.theirs, pair.ours)]
        rows.append([pair.task, str(pair.trial), *cells, "" if pair.equal else "differs"])
    table(["task", "trial", f"{first} theirs", "ours", ""], rows, options(), right=(1, 2, 3), whole=(2, 3))
    differences = [one for pair in pairs for one in pair.differences]
    scores = sum(len(pair.ours.scores) for pair in pairs if pair.ours is not None)
    unequal = sum(not pair.equal for pair in pairs)
    click.echo()
    if not unequal:
        click.echo(f"equal: {plural(scores, 'score')} of {plural(len(pairs), 'sample')}")
        return
    for one in differences[:_MOST]:
        words = f"{one.task} trial {one.trial}: {one.score} is {number(one.theirs)} there and {number(one.ours)} here"
        click.echo(words)
    if len(differences) > _MOST:
        click.echo(f"and {len(differences) - _MOST} more")
    click.echo(f"different: {plural(unequal, 'sample')} of {len(pairs)}")


def _cell(side: "GuestSample | None", name: str) -> str:
    if side is None:
        return "not played"
    return number(side.scores.get(name)) if side.scores or not side.failed else "failed"


def _document(source: str, pairs: "Sequence[SamplePair]") -> dict[str, Any]:
    import msgspec

    return {
        "source": source,
        "equal": all(pair.equal for pair in pairs),
        "samples": [
            {**msgspec.to_builtins(pair), "equal": pair.equal, "differences": msgspec.to_builtins(pair.differences)}
            for pair in pairs
        ],
    }
