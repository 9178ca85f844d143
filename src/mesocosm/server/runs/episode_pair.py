"""Two episodes of a task side by side, as a document."""

from mesocosm.core.failure import UsageError
from mesocosm.engine.comparison import episodes
from mesocosm.engine.comparison.episodes import AlignedStep, Moves, PlayedStep, read_moves
from mesocosm.server.permissions.visible_runs import VisibleEpisode
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.comparison import (
    AlignedStepDocument,
    EpisodePairDocument,
    EpisodeSideDocument,
    MoveDocument,
)
from mesocosm.server.schemas.document import discreet


def compare_pair(a: VisibleEpisode, b: VisibleEpisode) -> EpisodePairDocument:
    """Return two episodes aligned. Raises UsageError for one episode, Refusal 403 if what was done is hidden."""
    if a.id == b.id:
        raise UsageError("this is one episode; give another one of the same task to compare it with")
    moves_a, moves_b = _moves(a), _moves(b)
    found = episodes.compare_episodes(a.record, moves_a, b.record, moves_b)
    return EpisodePairDocument(
        finding=found.finding.value,
        words=discreet(found.words),
        first=found.first,
        by="call" if moves_a.by == moves_b.by == "call" else "step",
        whole=found.whole,
        steps=list(map(_aligned, found.steps)),
        a=_side(a, moves_a),
        b=_side(b, moves_b),
    )


def _moves(episode: VisibleEpisode) -> Moves:
    moves = read_moves(episode.events())
    if moves.by == "call" and episode.run.redacted:
        raise Refusal(
            403, f"what a model said in run {episode.run.id} is for those who own it, so its episodes are not compared"
        )
    return moves


def _side(episode: VisibleEpisode, moves: Moves) -> EpisodeSideDocument:
    return EpisodeSideDocument(
        episode_id=episode.id, steps=len(moves.steps) - 1, repeated=moves.repeated, in_vain=moves.in_vain
    )


def _aligned(step: AlignedStep) -> AlignedStepDocument:
    return AlignedStepDocument(a=_move(step.a), b=_move(step.b), change=step.change)


def _move(move: PlayedStep | None) -> MoveDocument | None:
    if move is None:
        return None
    return MoveDocument(
        number=move.number,
        step=move.step,
        first_event=move.first_event,
        events=move.events,
        action=discreet(move.action),
        reward=move.reward,
        failure=move.failure,
    )
