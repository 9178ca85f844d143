"""One person's queue in a round of reviews."""

from collections import Counter
from typing import Self

from mesocosm.core.review import RoundItem, Verdict
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions.review_rounds import VisibleRound
from mesocosm.server.permissions.review_verdicts import (
    grader_words,
    only_looks,
    save_verdict,
    verdict_document,
    verdict_of,
)
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.review import (
    ReviewTurn,
    SavedVerdict,
    VerdictInput,
)
from mesocosm.server.service import Service


class WorkingRound(VisibleRound):
    """A review round in which the caller judges."""

    @classmethod
    def find(cls, service: Service, viewer: Viewer, round_id: str, *, reviewer: str = "") -> Self:
        """Return a round. Raises UnknownName; Refusal 401, 403 for who may only look on."""
        found = super().find(service, viewer, round_id, reviewer=reviewer)
        for run_id, request in found._requests.items():  # noqa: SLF001 - its own
            if not viewer.may_judge_run(request):
                raise only_looks(run_id)
        return found

    def next(self) -> ReviewTurn:
        """Give the caller the next item. It stays with them for some minutes, so that others get other ones."""
        number = self._store.reviews.claim(self._round.id, self._author.id)
        document = self.document()
        given = [one for one in self._given if not one.settles]
        judged_by_me = {one.episode_id for one in given if one.author == self._author.id}
        done = Counter(one.episode_id for one in given)
        needed = [
            item
            for item in self._items
            if item.episode_id not in judged_by_me and done[item.episode_id] < self._round.reviews
        ]
        return ReviewTurn(
            round=document,
            item=None if number is None else self.item(number),
            with_others=len(needed) if number is None and self._round.closed_at is None else 0,
        )

    def skip(self, number: int) -> ReviewTurn:
        """Give an item back, and return the next one."""
        self._store.reviews.skip(self._round.id, self._item(number).number, self._author.id)
        return self.next()

    def save(self, number: int, given: VerdictInput) -> SavedVerdict:
        """Save the caller's verdict on an item; return it with what the graders say.

        Raises UsageError if it says too little, or else than the round asks; Refusal 409 if the round is closed, or
        for a verdict of another window meanwhile.
        """
        self._check_open()
        item = self._item(number)
        said = self._round.judged(verdict_of(given, self._author, item.episode_id, self._round.id).redacted())
        if said.settles:
            self._check_settles(item)
        saved = save_verdict(self._service, said, given.after)
        graders = grader_words(self._episode(item).record, self._passing)
        return SavedVerdict(
            verdict=verdict_document(saved, self._author, {saved.id}, self._round.name), graders=graders
        )

    def withdraw(self, number: int) -> ReviewTurn:
        """Take the caller's verdict on an item back, and give them the item again. It stays in the history."""
        self._check_open()
        item = self._item(number)
        mine = [one for one in self._given if one.author == self._author.id and not one.settles]
        held = [one for one in mine if one.episode_id == item.episode_id]
        if not held:
            raise Refusal(409, f"you have no verdict on item {number} of round {self._round.id}; nothing was undone")
        back = Verdict(
            episode_id=item.episode_id,
            round_id=self._round.id,
            author=self._author.id,
            author_name=self._author.name,
            withdrawn=True,
        )
        save_verdict(self._service, back, held[-1].id)
        for name in ("_history", "_given", "_complete"):
            self.__dict__.pop(name, None)
        return ReviewTurn(round=self.document(), item=self.item(number), with_others=0)

    def _check_open(self) -> None:
        if self._round.closed_at is not None:
            raise Refusal(409, f"round {self._round.id} is closed; who created it can open it again")

    def _check_settles(self, item: RoundItem) -> None:
        if item.episode_id not in self._complete:
            raise Refusal(409, f"item {item.number} has not all its verdicts yet; settle it when it has")
