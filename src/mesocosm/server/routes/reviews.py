"""`/api/reviews`, `/api/episodes/…/verdicts`: what people say of episodes, and rounds in which they do so."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from mesocosm.interop.verdicts import VerdictFormat, verdict_lines
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.export import attachment, gathered
from mesocosm.server.schemas.review import (
    AgreementDocument,
    EpisodeVerdicts,
    HumanScores,
    ReviewItem,
    ReviewTurn,
    RoundChange,
    RoundDocument,
    RoundInput,
    RoundList,
    SavedVerdict,
    VerdictInput,
)
from mesocosm.server.web.answer import answer

router = APIRouter(tags=["reviews"])

RoundId = Annotated[str, Path(max_length=200, description="ID of the round.")]
Number = Annotated[int, Path(ge=1, lt=2**31, description="Number of the item, from 1.")]
Name = Annotated[
    str, Query(max_length=100, description="Name of the reviewer where there are no accounts; otherwise ignored.")
]


@router.get("/api/reviews", response_model=RoundList, **access(Access.INSIDER))
def list_rounds(
    grant: Granted,
    run: Annotated[str, Query(max_length=200, description="ID of a run: only rounds with its episodes.")] = "",
    reviewer: Name = "",
) -> Response:
    """List the review rounds of runs that the caller sees all of, the newest first."""
    return answer(grant.rounds().list(run, reviewer))


@router.post(
    "/api/reviews", status_code=201, response_model=RoundDocument, responses=refused(400, 404), **access(Access.INSIDER)
)
def create_round(body: RoundInput, grant: Granted) -> RoundDocument:
    """Create a review round of episodes of one or more runs. For members who may work with all of the runs."""
    return grant.rounds().add(body)


@router.get("/api/reviews/{round_id}", response_model=RoundDocument, **access(Access.INSIDER))
def get_round(round_id: RoundId, grant: Granted, reviewer: Name = "") -> Response:
    """Return a review round with its progress."""
    return answer(grant.round(round_id, reviewer).document())


@router.patch("/api/reviews/{round_id}", response_model=RoundDocument, **access(Access.OWNER))
def change_round(round_id: RoundId, body: RoundChange, grant: Granted, reviewer: Name = "") -> RoundDocument:
    """Rename, close or open a round: one's own, or one of runs that the caller may change."""
    return grant.own_round(round_id, reviewer).change(body)


@router.delete("/api/reviews/{round_id}", status_code=204, response_class=Response, **access(Access.OWNER))
def delete_round(round_id: RoundId, grant: Granted, reviewer: Name = "") -> None:
    """Delete a round with its verdicts. Scores that were taken from it stay."""
    grant.own_round(round_id, reviewer).delete()


@router.post("/api/reviews/{round_id}/next", response_model=ReviewTurn, **access(Access.INSIDER))
def next_item(round_id: RoundId, grant: Granted, reviewer: Name = "") -> Response:
    """Give the caller the next item to judge; others get other items meanwhile."""
    return answer(grant.working_round(round_id, reviewer).next())


@router.get("/api/reviews/{round_id}/items/{number}", response_model=ReviewItem, **access(Access.INSIDER))
def get_item(round_id: RoundId, number: Number, grant: Granted, reviewer: Name = "") -> Response:
    """Return an item, with the verdicts of others once it has all of them."""
    return answer(grant.round(round_id, reviewer).item(number))


@router.post("/api/reviews/{round_id}/items/{number}/skip", response_model=ReviewTurn, **access(Access.INSIDER))
def skip_item(round_id: RoundId, number: Number, grant: Granted, reviewer: Name = "") -> Response:
    """Give an item back and return the next; it comes again when nothing else is left."""
    return answer(grant.working_round(round_id, reviewer).skip(number))


@router.post(
    "/api/reviews/{round_id}/items/{number}/verdicts",
    status_code=201,
    response_model=SavedVerdict,
    responses=refused(400, 409),
    **access(Access.INSIDER),
)
def save_verdict(round_id: RoundId, number: Number, body: VerdictInput, grant: Granted) -> SavedVerdict:
    """Save the caller's verdict on an item, which replaces their last one; return it with what the graders say.

    409 if the round is closed, if the caller has judged the item in another window meanwhile, and for a verdict that
    settles an item without all its verdicts.
    """
    return grant.working_round(round_id, body.reviewer).save(number, body)


@router.delete(
    "/api/reviews/{round_id}/items/{number}/verdicts",
    response_model=ReviewTurn,
    responses=refused(409),
    **access(Access.INSIDER),
)
def withdraw_verdict(round_id: RoundId, number: Number, grant: Granted, reviewer: Name = "") -> Response:
    """Take the caller's verdict on an item back, and return the item. The verdict stays in the history."""
    return answer(grant.working_round(round_id, reviewer).withdraw(number))


@router.get("/api/reviews/{round_id}/agreement", response_model=AgreementDocument, **access(Access.INSIDER))
def get_agreement(round_id: RoundId, grant: Granted, reviewer: Name = "") -> Response:
    """Return the agreement between people, and of people with graders and judges; disputed episodes come first."""
    return answer(grant.round(round_id, reviewer).agreement())


@router.post(
    "/api/reviews/{round_id}/scores", response_model=HumanScores, responses=refused(400, 409), **access(Access.OWNER)
)
def take_scores(round_id: RoundId, grant: Granted, reviewer: Name = "") -> HumanScores:
    """Store the verdicts as the score and metric `human` of the runs. It never becomes the primary metric.

    For those who may change all of the runs. 409 for official runs, and while a run waits or runs.
    """
    return grant.own_round(round_id, reviewer).take_scores()


@router.get(
    "/api/reviews/{round_id}/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {}}, "description": "One line per verdict."}},
    **access(Access.INSIDER),
)
def export_verdicts(
    round_id: RoundId,
    grant: Granted,
    kind: Annotated[VerdictFormat, Query(alias="format", description="`csv` or `jsonl`.")] = "csv",
    reviewer: Name = "",
) -> StreamingResponse:
    """Download the verdicts of a round that the caller may see, the oldest first, also replaced ones."""
    found = grant.round(round_id, reviewer)
    headers = {"Content-Disposition": attachment(f"{found.id}.{kind}"), "Cache-Control": "no-store"}
    media = "text/csv; charset=utf-8" if kind == "csv" else "application/jsonl"
    return StreamingResponse(gathered(verdict_lines(found.export(), kind)), headers=headers, media_type=media)


@router.get("/api/episodes/{episode_id}/verdicts", response_model=EpisodeVerdicts, **access(Access.INSIDER))
def list_verdicts(episode_id: str, grant: Granted, reviewer: Name = "") -> Response:
    """Return what people said of an episode, the oldest first. For those who see all of its run."""
    return answer(grant.reviews_of(episode_id).document(reviewer))


@router.post(
    "/api/episodes/{episode_id}/verdicts",
    status_code=201,
    response_model=EpisodeVerdicts,
    responses=refused(400, 409),
    **access(Access.INSIDER),
)
def save_episode_verdict(episode_id: str, body: VerdictInput, grant: Granted) -> EpisodeVerdicts:
    """Save the caller's verdict on an episode, outside of rounds; one that says nothing takes the last one back.

    409 if the caller has judged it in another window meanwhile.
    """
    return grant.reviews_of(episode_id).save(body)
