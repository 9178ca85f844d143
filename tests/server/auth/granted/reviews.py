"""A review round of each run, with a verdict whose every text is the run's secret."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.server.auth.granted.world import OWNER, REFUSED, RUNS, World, secret

from mesocosm.core.review import AskedLabel, Round, Verdict
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.review_queue import WorkingRound
from mesocosm.server.permissions.review_rounds import OwnedRound, VisibleRound, VisibleRounds
from mesocosm.server.permissions.review_verdicts import EpisodeReviews
from mesocosm.server.schemas.review import RoundChange, RoundInput, VerdictInput
from mesocosm.store.reviews import RoundProgress


def _new(run_id: str) -> RoundInput:
    return RoundInput.model_validate({"runs": [run_id]})


_WRONG = VerdictInput.model_validate({"answer": "wrong"})


def rounds(world: World) -> dict[str, str]:
    """Plant the rounds once; return their ids by the names of the runs."""
    store = world.service.store
    found = {made.runs[0]: made.id for made in store.reviews.list()}
    for name in RUNS:
        run_id, word = world.runs[name], secret(name)
        if run_id in found:
            continue
        made = Round(
            id="",
            name=word,
            created_by=f"user:{OWNER}",
            created_by_name=word,
            reviews=1,
            labels=(AskedLabel(word),),
            guide={"right": word},
        )
        found[run_id] = store.reviews.add(made, [world.episodes[name]]).id
        for round_id in (found[run_id], ""):
            said = Verdict(
                episode_id=world.episodes[name],
                round_id=round_id,
                author="user:77",
                author_name=word,
                answer="right",
                labels={word: True},
                note=word,
                step=word,
            )
            store.reviews.save(said)
    return {name: found[world.runs[name]] for name in RUNS}


def _each(found: Iterable[str], way: Callable[[str], Any]) -> list[Any]:
    """Return what is granted of these ids."""
    granted = []
    for one in found:
        try:
            granted.append(way(one))
        except REFUSED:
            continue
    return granted


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    VisibleRounds: lambda world, grant, _role: [grant.rounds()] if rounds(world) else [],
    VisibleRound: lambda world, grant, _role: _each(rounds(world).values(), grant.round),
    WorkingRound: lambda world, grant, _role: _each(rounds(world).values(), grant.working_round),
    OwnedRound: lambda world, grant, _role: _each(rounds(world).values(), grant.own_round),
    EpisodeReviews: lambda world, grant, _role: (
        _each(world.episodes.values(), grant.reviews_of) if rounds(world) else []
    ),
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleRounds.list": lambda found, world: [found.list(), *_each(world.runs.values(), found.list)],
    "VisibleRounds.add": lambda found, world: _each(
        world.runs.values(), lambda one: found.add(RoundInput.model_validate({"runs": [one]}))
    ),
    "VisibleRound.document": lambda found, _world: found.document(),
    "VisibleRound.described": lambda found, _world: found.described(RoundProgress()),
    "VisibleRound.item": lambda found, _world: found.item(1),
    "VisibleRound.agreement": lambda found, _world: found.agreement(),
    "VisibleRound.export": lambda found, _world: found.export(),
    "WorkingRound.next": lambda found, _world: found.next(),
    "WorkingRound.skip": lambda found, _world: found.skip(1),
    "WorkingRound.save": lambda found, _world: found.save(1, _WRONG),
    "WorkingRound.withdraw": lambda found, _world: found.withdraw(1),
    "OwnedRound.change": lambda found, _world: found.change(RoundChange(closed=True)),
    "OwnedRound.delete": lambda found, _world: found.delete(),
    "OwnedRound.take_scores": lambda found, _world: found.take_scores(),
    "EpisodeReviews.document": lambda found, _world: found.document(),
    "EpisodeReviews.save": lambda found, _world: found.save(_WRONG),
}

TELLS = {"VisibleRounds.list", "VisibleRound.document", "VisibleRound.agreement", "EpisodeReviews.document"}
"""What shows the planted secret to the owner."""
