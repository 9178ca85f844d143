"""`mesocosm compare EPISODE EPISODE`: two episodes of a task step by step, from where they part ways."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.render import emit, number, table
from mesocosm.cli.results import find_run
from mesocosm.cli.viewer_link import page
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.one_line import answer_line, question_line
from mesocosm.core.verdict import verdict
from mesocosm.engine.comparison.episodes import (
    AlignedStep,
    EpisodePair,
    PairFinding,
    PlayedStep,
    compare_episodes,
    read_moves,
)

if TYPE_CHECKING:
    from mesocosm.core.episode import Episode
    from mesocosm.store import Store

SHOWN = 24
"""Maximum number of rows of the table, from two before the first difference on."""

_SIGNS = {"same": "=", "effect": "≈", "action": "≠", "only_a": "·", "only_b": "·"}


def named_episodes(store: "Store", names: Sequence[str]) -> "tuple[Episode, Episode] | None":
    """Return the two episodes of these ids, unique prefixes of them, or `RUN/INDEX`; None if neither is one.

    Raises UnknownName if only one of them is, UsageError for the same one twice.
    """
    found, missing = list["Episode"](), list[UnknownName]()
    for name in names:
        try:
            found.append(_episode(store, name))
        except UnknownName as error:
            missing.append(error)
    if not found or len(names) != 2:
        return None
    if missing:
        raise missing[0]
    one, other = found
    if one.id == other.id:
        raise UsageError(f"{names[0]} and {names[1]} are one episode; give another one of the same task")
    return one, other


def _episode(store: "Store", name: str) -> "Episode":
    run, _, index = name.rpartition("/")
    return store.episodes.get(f"{find_run(store, run).id}/{index}" if run else name)


def compare_pair(store: "Store", one: "Episode", other: "Episode", differing: int) -> int:
    """Print two episodes aligned; return `differing` if they are not of the same task."""
    moves = [read_moves(store.traces.events(episode.id)) for episode in (one, other)]
    found = compare_episodes(one, moves[0], other, moves[1])
    if options().json:
        emit(_document(store, one, other, found))
    else:
        _tell(store, one, other, found)
    return differing if found.finding is PairFinding.OTHER_TASK else 0


def _tell(store: "Store", one: "Episode", other: "Episode", found: EpisodePair) -> None:
    question, expected = question_line(one.input), answer_line(one.target)
    click.secho(question or one.task_id, bold=True)
    if expected:
        click.echo(f"expected  {expected}")
    for letter, episode in (("A", one), ("B", other)):
        run = store.runs.get(episode.run_id)
        outcome = verdict(episode, run.passing)
        words = [
            run.player or run.agent,
            str(outcome or "").replace("_", " "),
            answer_line(episode.answer),
            episode.why,
        ]
        click.echo(f"{letter}  " + "  ".join(filter(None, words)))
    click.echo(f"\n{found.words}")
    if found.finding is PairFinding.OTHER_TASK:
        return
    place = next((place for place, step in enumerate(found.steps) if step.change != "same"), 0)
    first = max(place - 2, 0)
    shown = found.steps[first : first + SHOWN]
    unit = "call" if found.a.by == found.b.by == "call" else "step"
    click.echo()
    table([unit, "A", "", "B"], map(_row, shown), options(), right=(0,), whole=(0, 2))
    left = len(found.steps) - first - len(shown)
    if first or left:
        click.echo(f"{first} rows before and {left} after these; --json has all")
    if not found.whole:
        click.echo("only the first steps of a very long episode were compared")
    click.echo(f"\n  {page(f'/compare/episodes?a={one.id}&b={other.id}', store, options())}")


def _row(step: AlignedStep) -> list[str]:
    numbers = dict.fromkeys(str(move.number) for move in (step.a, step.b) if move is not None)
    return ["/".join(numbers), _did(step.a), _SIGNS[step.change], _did(step.b)]


def _did(move: PlayedStep | None) -> str:
    if move is None:
        return "–"
    action = "start" if move.number == 0 and not move.action else move.action[:60]
    reward = f" ({number(move.reward)})" if move.reward else ""
    return f"{action}{reward}" + (f" {move.failure}" if move.failure else "")


def _document(store: "Store", one: "Episode", other: "Episode", found: EpisodePair) -> dict[str, Any]:
    def move(of: PlayedStep | None) -> dict[str, Any] | None:
        if of is None:
            return None
        return {name: getattr(of, name) for name in ("number", "step", "first_event", "action", "reward", "failure")}

    def side(episode: "Episode") -> dict[str, Any]:
        outcome = verdict(episode, store.runs.get(episode.run_id).passing)
        return {"episode_id": episode.id, "run_id": episode.run_id, "verdict": outcome, "why": episode.why}

    return {
        "finding": found.finding.value,
        "words": found.words,
        "first": found.first,
        "whole": found.whole,
        "a": side(one),
        "b": side(other),
        "steps": [{"change": step.change, "a": move(step.a), "b": move(step.b)} for step in found.steps],
    }
