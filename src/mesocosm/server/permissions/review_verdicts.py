"""Verdicts of people on episodes.

Who sees all of a run sees its reviews; guests and outsiders see none, also of public runs. Judging is for members who
may work with the run: a viewer of its workspace may only look on. A person's verdicts are theirs alone.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.review import Round, Verdict, current
from mesocosm.engine.reviewing import (
    PassRules,
)
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import discreet, instant
from mesocosm.server.schemas.review import (
    EpisodeVerdicts,
    GraderWord,
    Reviewer,
    VerdictDocument,
    VerdictInput,
)
from mesocosm.server.service import Service
from mesocosm.store.reviews import Superseded
from mesocosm.store.run_requests import RunRequest

_TAGS = 30

_GIT_S = 2.0


class Author(NamedTuple):
    """A person who judges: their id in the store, and the name that others see."""

    id: str
    name: str


@cache
def _machine_user() -> str:
    """Return the name of the user of this machine: that of Git, else that of the login."""
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            ["git", "config", "--global", "user.name"],  # noqa: S607 - the user's own Git
            capture_output=True,
            text=True,
            timeout=_GIT_S,
            check=False,
        )
        if name := said.stdout.strip():
            return name[:100]
    return os.environ.get("USER") or os.environ.get("USERNAME") or "you"


def author_of(viewer: Viewer, given: str) -> Author:
    """Return the caller as an author. Raises Refusal 401 without a login, 403 for guests."""
    if not _nameless(viewer):
        user_id = viewer.user_id
        return Author(f"user:{user_id}", viewer.caller.username or f"user {user_id}")
    name = " ".join(given.split()) or _machine_user()
    return Author(f"person:{name.casefold()}", name)


def _nameless(viewer: Viewer) -> bool:
    """Return whether there are no accounts, so that people say who they are."""
    return viewer.local or viewer.caller.way == "open"


def reviewer_of(viewer: Viewer, given: str) -> Reviewer:
    """Return how the caller is shown as a reviewer. Raises Refusal 401 without a login, 403 for guests."""
    return Reviewer(name=author_of(viewer, given).name, changeable=_nameless(viewer))


class EpisodeReviews(GrantedObject):
    """The verdicts on an episode of a run that the caller sees all of."""

    def __init__(self, service: Service, viewer: Viewer, episode: VisibleEpisode, request: RunRequest | None) -> None:
        super().__init__(service, viewer)
        self._episode = episode
        self._request = request

    @classmethod
    def find(cls, service: Service, viewer: Viewer, episode_id: str) -> Self:
        """Return the reviews of an episode. Raises UnknownName; Refusal 403 for outsiders of a public run."""
        episode = VisibleRuns(service, viewer).episode(episode_id)
        _, request = readable_run(service, viewer, episode.run.id)
        if not viewer.sees_inside(request):
            raise Refusal(403, f"run {episode.run.id} belongs to another account; its reviews are for who owns the run")
        return cls(service, viewer, episode, request)

    def document(self, reviewer: str = "") -> EpisodeVerdicts:
        """Return the verdicts that the caller may see."""
        found = self._store.reviews.of_episode(self._episode.id)
        may_judge = self._viewer.may_judge_run(self._request)
        author = author_of(self._viewer, reviewer) if may_judge else Author("", "")
        shown = [one for one in found if self._shown(one, author, found)]
        holding = {one.id for one in current(found)}
        mine = [one for one in found if one.author == author.id and not one.round_id]
        documents = {one.id: self._document(one, author, holding) for one in shown}
        held = next((documents[one.id] for one in reversed(mine) if one.id in holding), None)
        return EpisodeVerdicts(
            items=list(documents.values()),
            hidden=len(found) - len(shown),
            mine=held,
            last=mine[-1].id if mine else "",
            labels=self._labels(),
            graders=grader_words(self._episode.record, pass_rules([self._episode.run])),
            reviewer=reviewer_of(self._viewer, reviewer) if may_judge else Reviewer(name="", changeable=False),
            may_judge=may_judge,
        )

    def save(self, given: VerdictInput) -> EpisodeVerdicts:
        """Save the caller's verdict outside of rounds, or take it back if it says nothing.

        Raises Refusal: 403 for who may only read, 409 for a verdict of another window meanwhile; UsageError.
        """
        if not self._viewer.may_judge_run(self._request):
            raise only_looks(self._episode.run.id)
        author = author_of(self._viewer, given.reviewer)
        said = verdict_of(given, author, self._episode.id).redacted()
        if said.settles:
            raise UsageError("a verdict outside of rounds settles nothing; settle it in its round")
        answer = said.answer or self._answer_by(said.grader)
        said = msgspec.structs.replace(said, answer=answer, withdrawn=said.empty)
        save_verdict(self._service, said, given.after)
        return self.document(given.reviewer)

    def _answer_by(self, grader: str) -> Any:
        """Return what a verdict on the grader says of the answer; empty where its score is not right or wrong."""
        run = self._episode.run
        passing = pass_rules([run])
        passed = passing.verdicts(self._episode.record).get(passing.primary.get(run.id, ""))
        if passed is None or grader not in {"right", "wrong"}:
            return ""
        return "right" if passed == (grader == "right") else "wrong"

    def _shown(self, said: Verdict, author: Author, found: Sequence[Verdict]) -> bool:
        """Return whether a verdict is no secret any more."""
        made = self._rounds.get(said.round_id)
        if made is None or not made.blind or made.closed_at is not None or said.author == author.id:
            return True
        done = [one for one in current(tuple(found)) if one.round_id == made.id and not one.settles]
        return len(done) >= made.reviews

    @cached_property
    def _rounds(self) -> dict[str, Round]:
        return {made.id: made for made in self._store.reviews.list(self._episode.run.id)}

    def _document(self, said: Verdict, author: Author, holding: set[str]) -> VerdictDocument:
        made = self._rounds.get(said.round_id)
        # The names of the others' rounds over several runs are for who sees those runs.
        return verdict_document(said, author, holding, made.name if made is not None else "")

    def _labels(self) -> list[str]:
        given = current(self._store.reviews.of_run(self._episode.run.id))
        tags = Counter(name for one in given if not one.round_id for name, value in one.labels.items() if value is True)
        return [name for name, _ in tags.most_common(_TAGS)]


def only_looks(run_id: str) -> Refusal:
    """Return the refusal for who may see a run and not judge it."""
    return Refusal(403, f"you may look at run {run_id}, and not judge it; ask for a role in which you may work with it")


def save_verdict(service: Service, said: Verdict, after: str | None) -> Verdict:
    """Save a verdict. Raises Refusal 409 if another one than `after` was saved last."""
    try:
        return service.store.reviews.save(said, after)
    except Superseded as error:
        raise Refusal(409, str(error)) from None


def verdict_of(given: VerdictInput, author: Author, episode_id: str, round_id: str = "") -> Verdict:
    """Return what was sent as a verdict of its author."""
    return Verdict(
        episode_id=episode_id,
        round_id=round_id,
        author=author.id,
        author_name=author.name,
        answer=given.answer or "",
        grader=given.grader or "",
        labels=dict(given.labels),
        note=given.note.strip(),
        step=given.step.strip(),
        settles=given.settles,
    )


def verdict_document(said: Verdict, author: Author, holding: set[str], round_name: str) -> VerdictDocument:
    """Return a verdict as the caller sees it; `holding` are the ids of those that hold now."""
    return VerdictDocument(
        id=said.id,
        round_id=said.round_id or None,
        round_name=round_name,
        author=said.author_name,
        mine=said.author == author.id,
        at=instant(said.at),
        answer=said.answer or None,
        grader=said.grader or None,
        labels=said.labels,
        note=said.note,
        step=said.step,
        settles=said.settles,
        withdrawn=said.withdrawn,
        current=said.id in holding,
    )


def pass_rules(runs: Sequence[VisibleRun]) -> PassRules:
    """Return when a score of these runs counts as passed."""
    return PassRules([run.record for run in runs])


def grader_words(episode: Episode, passing: PassRules) -> list[GraderWord]:
    """Return what the graders of an episode say, the primary one first."""
    primary = passing.primary.get(episode.run_id)
    words = [
        GraderWord(
            name=score.name,
            primary=score.name == primary,
            passed=passing.passed(episode.run_id, score),
            value=score.value,
            explanation=discreet(score.explanation),
        )
        for score in episode.scores
        if score.name != "human"
    ]
    return sorted(words, key=lambda word: not word.primary)
