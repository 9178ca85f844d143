"""Episodes of a run as the platform shows them, those that have not begun among them.

A program that polls sees as many rows as the run is to have. An episode that has not begun is called `RUN.PLACE`, by
its place in the plan; once it has begun it has an id of its own, and the first name still leads to it. One that is
played again (its failure said nothing about the agent, or its worker died) gets a new id; the place stays.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from mesocosm.compat.swecc.documents import Episode as EpisodeDocument
from mesocosm.compat.swecc.documents import RunStatus
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, UnknownName
from mesocosm.core.run import Run
from mesocosm.environments.seeds import seed_tasks
from mesocosm.server.auth.visible_runs import VisibleRun
from mesocosm.server.run_requests.view import TERMINAL, public_status
from mesocosm.server.schemas.document import moment, shortened
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest

BATCH = 200
_CANCELLED = {"cancelled": True, "reason": "run_cancelled"}
"""What older programs read of an episode that a cancelled run did not play, or not to its end."""


def place_id(run_id: str, place: int) -> str:
    """Return the name of an episode by its place in the plan of a run (0, 1, …)."""
    return f"{run_id}.{place}"


def named_episode(service: Service, episode_id: str) -> Episode:
    """Return an episode by its id or its place; one that has not begun yet is `pending`. Raises UnknownName."""
    run_id, dot, place = episode_id.rpartition(".")
    if not dot:
        if len(episode_id) != 36:
            raise UnknownName(_unknown(episode_id))
        return service.store.episodes.get(episode_id)
    if len(run_id) != 36 or not (place.isascii() and place.isdecimal() and len(place) < 7):
        raise UnknownName(_unknown(episode_id))
    run = service.store.runs.get(run_id)
    found = service.store.episodes.at(run.id, int(place), 1)
    if found and found[0].index == int(place):
        return found[0]
    planned = next((row for row in _plan(run) if row.index == int(place)), None)
    if planned is None:
        raise UnknownName(_unknown(episode_id))
    return planned


def episode_documents(
    visible: VisibleRun, order: RunRequest, run: Run, *, first: int = 0, limit: int | None = None
) -> list[EpisodeDocument]:
    """Return the episodes of a run from a place of the plan on, in its order, begun or not."""
    last = run.counts.planned if limit is None else min(first + limit, run.counts.planned)
    begun = {episode.index: episode for episode in _stored(visible, first, last)}
    status = public_status(order, run)
    waiting = EpisodeStatus.CANCELLED if status in TERMINAL else EpisodeStatus.PENDING
    found = []
    for planned in islice(_plan(run), first, last):
        episode = begun.get(planned.index)
        document = episode_document(planned, waiting) if episode is None else episode_document(episode)
        if status is RunStatus.CANCELLED and document.status is EpisodeStatus.CANCELLED:
            document.terminal_info = {**_CANCELLED, **document.terminal_info}
        found.append(document)
    return found


def episode_document(episode: Episode, status: EpisodeStatus | None = None) -> EpisodeDocument:
    """Return an episode's document; `status` in place of its own."""
    failure = episode.failure
    facts: dict[str, Any] = {
        "id": episode.id,
        "run_id": episode.run_id,
        "seed": episode.seed,
        "status": status or episode.status.value,
        "started_at": moment(episode.started_at),
        "ended_at": moment(episode.ended_at),
        "steps": episode.steps,
        "total_reward": _number(episode.total_reward) or 0.0,
        "terminal_info": shortened(_info(episode)),
        "trial": episode.trial,
        "index": episode.index,
        "scores": {score.name: _number(score.value) for score in episode.scores},
        "failure": None if failure is None else shortened(msgspec.to_builtins(failure)),
        "retries": episode.retries,
    }
    return EpisodeDocument.model_validate(facts)


def _info(episode: Episode) -> dict[str, Any]:
    """Return the last words, with the reason of a failure where older programs look for it."""
    if episode.failure is None or "error" in episode.terminal_info:
        return episode.terminal_info
    reason = {"reason": episode.failure.cause.value} if episode.failure.cause is Cause.BUDGET else {}
    return {**reason, **episode.terminal_info, "error": episode.failure.message}


def _plan(run: Run) -> Iterator[Episode]:
    """Yield the episodes that a run is to have, none of them begun."""
    index = 0
    for trial in range(run.spec.selection.trials):
        for task in seed_tasks(run.spec.selection):
            yield Episode(
                id=place_id(run.id, index),
                run_id=run.id,
                task_digest=task.digest(),
                task_id=task.id,
                trial=trial,
                seed=task.seed,
                index=index,
            )
            index += 1


def _stored(run: VisibleRun, first: int, last: int) -> Iterator[Episode]:
    for start in range(first, last, BATCH):
        yield from run.episodes_at(start, min(BATCH, last - start))


def _number(value: float | None) -> float | None:
    return None if value is None or value != value or value in (float("inf"), float("-inf")) else value  # noqa: PLR0124


def _unknown(episode_id: str) -> str:
    return f"there is no episode {episode_id[:100]!r} that you may see; sign in, or ask its owner"
