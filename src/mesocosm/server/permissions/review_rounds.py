"""Rounds of reviews.

Who sees all of the runs of a round sees the round; it is changed by who created it, and by those who may change all of
its runs.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, Self

import msgspec

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import UnknownName
from mesocosm.core.one_line import cut
from mesocosm.core.review import DEFAULT_LABELS, AskedLabel, Round, RoundItem, Verdict, current
from mesocosm.core.run import Run
from mesocosm.engine.reviewing import (
    Judged,
    PassRules,
    draw,
    human_score,
    judged,
    most_disputed,
    report,
    take_as_scores,
)
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.cache import Cache
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.review_verdicts import author_of, only_looks, pass_rules, reviewer_of, verdict_document
from mesocosm.server.permissions.reviewed_lines import LETTERS, answer_of, lines_of, question_of
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.review import (
    AgreementDocument,
    AgreementItem,
    ConfusionDocument,
    HumanScore,
    HumanScores,
    IntervalDocument,
    JudgeDocument,
    PairDocument,
    ReviewerProgress,
    ReviewItem,
    ReviewLabel,
    RoundChange,
    RoundDocument,
    RoundInput,
    RoundList,
    VerdictDocument,
)
from mesocosm.server.service import Service, local_service
from mesocosm.stats import Agreement, Interval
from mesocosm.store import Store
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.reviews import RoundProgress
from mesocosm.store.run_requests import RunRequest

MOST = 10_000
"""Maximum number of episodes of a round."""

MOST_MATCHING = 100_000
"""Maximum number of matching episodes that a sample is drawn from."""

_PAGE = 1_000

_LINE = 240

_RATED = 200_000
"""Maximum number of episodes of which a grader's share is computed."""

_UNKNOWN = "there is no review round {!r} that you may see; `mesocosm review list` shows those that you may"

_REPORTS = Cache[AgreementDocument](50)


class VisibleRounds(GrantedObject):
    """The review rounds of runs that the caller sees all of."""

    def list(self, run_id: str = "", reviewer: str = "") -> RoundList:
        """Return rounds, the newest first; with `run_id` those with an episode of this run. Raises Refusal 401, 403."""
        if run_id:
            run_id = VisibleRuns(self._service, self._viewer).get(run_id).id
        rounds = self._store.reviews.list(run_id)
        progress = self._store.reviews.progress([made.id for made in rounds])
        known: _Known = {}
        found = []
        for made in rounds:
            with suppress(UnknownName, Refusal):
                one = VisibleRound(self._service, self._viewer, made, reviewer=reviewer, known=known)
                found.append(one.described(progress[made.id]))
        return RoundList(items=found, reviewer=reviewer_of(self._viewer, reviewer))

    def add(self, given: RoundInput) -> RoundDocument:
        """Create a round. Raises UnknownName, UsageError; Refusal: 403 for who may not judge all of the runs, 422."""
        runs = [VisibleRuns(self._service, self._viewer).get(run_id) for run_id in dict.fromkeys(given.runs)]
        for run in runs:
            _, request = readable_run(self._service, self._viewer, run.id)
            if not self._viewer.may_judge_run(request):
                raise only_looks(run.id)
        author = author_of(self._viewer, given.reviewer)
        wanted = _episode_filter(given)
        episodes = [episode for run in runs for episode in _finished(run, wanted)]
        earlier = [one for run in runs for one in current(self._store.reviews.of_run(run.id))]
        passing = pass_rules(runs)
        ids = draw(episodes, sample=given.sample, seed=given.seed, order=given.order, passing=passing, earlier=earlier)
        if len(ids) > MOST:
            raise Refusal(422, f"{len(ids):,} episodes match; give a sample of at most {MOST:,}", field="sample")
        words, random = _drawn(given, len(episodes), len(ids))
        labels = DEFAULT_LABELS if given.labels is None else _labels(given.labels)
        made = Round(
            id="",
            name=given.name.strip() or _name(runs, words),
            created_by=author.id,
            created_by_name=author.name,
            drawn=words,
            random=random,
            seed=given.seed,
            order=given.order,
            reviews=given.reviews,
            labels=labels,
            guide={str(answer): words for answer, words in given.guide.items()},
            blind=given.blind,
            bar=given.bar,
        )
        found = self._store.reviews.add(made.checked(), ids)
        return VisibleRound(self._service, self._viewer, found, reviewer=given.reviewer).document()


class VisibleRound(GrantedObject):
    """A review round over runs that the caller sees all of."""

    def __init__(
        self,
        service: Service,
        viewer: Viewer,
        made: Round,
        *,
        reviewer: str = "",
        known: "_Known | None" = None,
    ) -> None:
        super().__init__(service, viewer)
        self._author = author_of(viewer, reviewer)
        self._round = made
        known = {} if known is None else known
        self._records: dict[str, tuple[Run, RunRequest | None]] = {}
        for run_id in made.runs:
            found = (
                known[run_id] if run_id in known else known.setdefault(run_id, _seen_inside(service, viewer, run_id))
            )
            if found == "hidden":
                raise UnknownName(_UNKNOWN.format(made.id))
            if not isinstance(found, str):
                self._records[run_id] = found

    @classmethod
    def find(cls, service: Service, viewer: Viewer, round_id: str, *, reviewer: str = "") -> Self:
        """Return a round. Raises UnknownName for one that the caller may not see; Refusal 401, 403 for guests."""
        author_of(viewer, reviewer)
        if not viewer.local and len(round_id) != _ID:
            raise UnknownName(_UNKNOWN.format(round_id[:_ID]))
        try:
            return cls(service, viewer, service.store.reviews.get(round_id), reviewer=reviewer)
        except UnknownName:
            if viewer.local:
                raise
            raise UnknownName(_UNKNOWN.format(round_id)) from None

    @property
    def id(self) -> str:
        """The id of the round."""
        return self._round.id

    def document(self) -> RoundDocument:
        """Return the round with its progress."""
        return self.described(self._store.reviews.progress([self._round.id])[self._round.id])

    def described(self, progress: RoundProgress) -> RoundDocument:
        """Return the round with its progress, which was read already."""
        made = self._round
        return RoundDocument(
            id=made.id,
            name=made.name,
            created_at=instant(made.created_at),
            created_by=made.created_by_name,
            closed_at=moment(made.closed_at),
            runs=[] if self._hides_models else list(self._records),
            drawn=made.drawn,
            random=made.random,
            order=made.order,
            seed=str(made.seed),
            reviews=made.reviews,
            labels=[ReviewLabel.model_validate(msgspec.to_builtins(label)) for label in made.labels],
            guide=made.guide,
            blind=made.blind,
            bar=made.bar,
            items=progress.items,
            done=sum(count for _, _, count in progress.people),
            complete=sum(count for number, count in progress.judged.items() if number >= made.reviews),
            mine=next((count for author, _, count in progress.people if author == self._author.id), 0),
            people=[ReviewerProgress(name=name, done=count) for _, name, count in progress.people],
            may_judge=all(map(self._viewer.may_judge_run, self._requests.values())),
            may_change=self._may_change,
        )

    def item(self, number: int) -> ReviewItem:
        """Return an item, as who judges or settles it sees it. Raises Refusal 404."""
        item = self._item(number)
        episode = self._episode(item)
        lines, more = lines_of(episode)
        shown = [one for one in self._history if one.episode_id == item.episode_id and self._may_see(one)]
        return ReviewItem(
            number=item.number,
            question=question_of(episode, LETTERS),
            expected=answer_of(episode.record.target),
            given=answer_of(episode.record.answer),
            reference=answer_of(episode.record.reference),
            lines=lines,
            more=more,
            verdicts=[self._verdict_document(one) for one in shown],
            episode_id=None if self._hides_models else item.episode_id,
        )

    def agreement(self) -> AgreementDocument:
        """Return the agreement of the round."""
        # Verdicts are only ever added, so their number tells whether anything was said meanwhile.
        said = (len(self._history), len(self._items), self._round.closed_at)
        graded = tuple(repr(run.record.metrics) for run in self._runs.values())
        key = (self._store.place, self._round.id, self._author.id, said, graded)
        document = self.document()
        found = _REPORTS.get(key, self._agreement)
        return found.model_copy(update={"round": document})

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield one flat record for each verdict that the caller may see, the oldest first."""
        holding = {one.id for one in self._given}
        numbers = {item.episode_id: item.number for item in self._items}
        names = [label.name for label in self._round.labels]
        for one in self._history:
            if not self._may_see(one) or one.episode_id not in numbers:
                continue
            told = not self._hides_models
            yield {
                "round": self._round.id,
                "item": numbers[one.episode_id],
                "run": one.run_id if told else "",
                "episode": one.episode_id if told else "",
                "author": one.author_name,
                "at": instant(one.at).isoformat(),
                "answer": one.answer,
                "grader": one.grader,
                **{f"label_{name}": one.labels.get(name) for name in names},
                "step": one.step,
                "note": one.note,
                "settles": one.settles,
                "withdrawn": one.withdrawn,
                "current": one.id in holding,
            }

    @cached_property
    def _requests(self) -> dict[str, RunRequest | None]:
        return {run_id: request for run_id, (_, request) in self._records.items()}

    @cached_property
    def _runs(self) -> dict[str, VisibleRun]:
        return {
            run_id: VisibleRun(self._service, self._viewer, record, request)
            for run_id, (record, request) in self._records.items()
        }

    @cached_property
    def _items(self) -> tuple[RoundItem, ...]:
        return self._store.reviews.items(self._round.id)

    @cached_property
    def _history(self) -> tuple[Verdict, ...]:
        return self._store.reviews.of_round(self._round.id)

    @cached_property
    def _given(self) -> tuple[Verdict, ...]:
        return current(self._history)

    @property
    def _may_change(self) -> bool:
        if self._round.created_by == self._author.id or self._viewer.sees_all:
            return True
        return bool(self._requests) and all(map(self._viewer.may_change_run, self._requests.values()))

    @property
    def _hides_models(self) -> bool:
        return self._round.blind and self._round.closed_at is None

    @cached_property
    def _complete(self) -> frozenset[str]:
        """The episodes of which no verdict is a secret any more."""
        if not self._hides_models:
            return frozenset(item.episode_id for item in self._items)
        done = Counter(one.episode_id for one in self._given if not one.settles)
        return frozenset(episode_id for episode_id, count in done.items() if count >= self._round.reviews)

    def _may_see(self, said: Verdict) -> bool:
        return said.author == self._author.id or said.episode_id in self._complete

    def _item(self, number: int) -> RoundItem:
        found = next((item for item in self._items if item.number == number), None)
        if found is None:
            raise Refusal(404, f"round {self._round.id} has no item {number}; it has {len(self._items)}")
        return found

    def _episode(self, item: RoundItem) -> VisibleEpisode:
        return self._runs[item.run_id].episode(item.episode_id)

    def _verdict_document(self, said: Verdict) -> VerdictDocument:
        return verdict_document(said, self._author, {one.id for one in self._given}, self._round.name)

    def _judged(self, items: Sequence[RoundItem]) -> tuple[Judged, ...]:
        episodes = self._store.episodes.several([item.episode_id for item in items])
        return judged(items, episodes, self._given, self._passing)

    @cached_property
    def _passing(self) -> PassRules:
        return pass_rules(list(self._runs.values()))

    def _agreement(self) -> AgreementDocument:
        items = self._judged([item for item in self._items if item.episode_id in self._complete])
        found = report(self._round, items, self._passing, self._rate)
        shown = [item for item in most_disputed(items) if item.verdicts]
        return AgreementDocument(
            round=self.document(),
            over=len(items),
            alpha=_interval(found.alpha),
            pairs=[_pair(found.people[pair.one], found.people[pair.other], pair.agreement) for pair in found.pairs],
            judges=[
                JudgeDocument(
                    pair=_pair("people", one.name, one.agreement),
                    primary=one.primary,
                    fit=one.fit,
                    verdict=_fitness(one.agreement, self._round.bar),
                    confusion=ConfusionDocument(
                        right_right=one.confusion.yes_yes,
                        right_wrong=one.confusion.yes_no,
                        wrong_right=one.confusion.no_yes,
                        wrong_wrong=one.confusion.no_no,
                    ),
                    sensitivity=_interval(one.confusion.sensitivity),
                    specificity=_interval(one.confusion.specificity),
                    bias=_interval(one.bias),
                    rate=one.rate,
                    corrected=_interval(one.corrected),
                    uncorrected=_uncorrected(self._round, one.rate, one.corrected),
                )
                for one in found.graders
            ],
            items=[self._agreement_item(item) for item in shown],
        )

    def _agreement_item(self, item: Judged) -> AgreementItem:
        said = (*item.verdicts, item.settled) if item.settled is not None else item.verdicts
        episode = self._episode(item.item)
        return AgreementItem(
            number=item.item.number,
            question=cut(question_of(episode)),
            expected=answer_of(episode.record.target, _LINE),
            given=answer_of(episode.record.answer, _LINE),
            verdicts=[self._verdict_document(one) for one in said],
            called=item.called or None,
            settled=item.settled is not None,
            disputed=item.disputed,
            graders=item.graders,
            against=[name for name in item.graders if item.against(name)],
            episode_id=None if self._hides_models else item.item.episode_id,
        )

    def _rate(self, name: str) -> tuple[int, int] | None:
        """Return how many episodes of the runs a grader calls right, and of how many."""
        runs = list(self._runs.values())
        if not self._round.random or sum(run.record.counts.planned for run in runs) > _RATED:
            return None
        yes = n = 0
        for run in runs:
            for row in run.score_rows(name):
                passed = False if row.worst else self._passing.value(run.id, name, row.value)
                if passed is not None:
                    yes, n = yes + passed, n + 1
        return (yes, n) if n else None


class OwnedRound(VisibleRound):
    """A review round that the caller may change."""

    @classmethod
    def find(cls, service: Service, viewer: Viewer, round_id: str, *, reviewer: str = "") -> Self:
        """Return a round. Raises UnknownName; Refusal 403 for one that the caller may only see."""
        found = super().find(service, viewer, round_id, reviewer=reviewer)
        if not found._may_change:  # noqa: SLF001 - its own
            raise Refusal(403, f"round {found.id} was created by somebody else; ask them, or an owner of its runs")
        return found

    def change(self, given: RoundChange) -> RoundDocument:
        """Rename, close or open the round."""
        name = None if given.name is None else given.name.strip() or None
        self._store.reviews.change(self._round.id, name=name, closed=given.closed)
        again = self._store.reviews.get(self._round.id)
        return OwnedRound(self._service, self._viewer, again, reviewer=self._author.name).document()

    def delete(self) -> None:
        """Delete the round with its verdicts."""
        self._store.reviews.delete(self._round.id)

    def take_scores(self) -> HumanScores:
        """Store the verdicts as the score and metric `human` of each run.

        Raises Refusal: 403 unless the caller may change all of the runs, 409 for official and running ones; UsageError.
        """
        for run_id, request in self._requests.items():
            if not self._viewer.may_change_run(request):
                raise Refusal(403, f"run {run_id} belongs to another account; only who may change it may add scores")
            if request is not None and request.official:
                raise Refusal(409, "an official run keeps its scores; start ordinary runs for experiments")
            if self._runs[run_id].open:
                raise Refusal(409, f"run {run_id} waits or runs; take verdicts as scores when it has ended")
        by_run: dict[str, list[Judged]] = defaultdict(list)
        said = {one.episode_id for one in self._history} & self._complete
        for item in self._judged([item for item in self._items if item.episode_id in said]):
            by_run[item.item.run_id].append(item)
        scored = []
        for run_id, items in by_run.items():
            if not any(map(human_score, items)):
                continue
            run = take_as_scores(self._store.runs.get(run_id), items, self._store)
            (found,) = (metric for metric in run.metrics if metric.name == "human")
            scored.append(
                HumanScore(run_id=run_id, value=found.value, low=found.low, high=found.high, n=found.n_scored)
            )
        if not scored:
            raise Refusal(409, f"round {self._round.id} has no episode with all its verdicts yet; judge first")
        if not self._viewer.local:
            self._service.store.audit.note(self._viewer.caller.actor, "review.scores", f"round:{self._round.id}")
        return HumanScores(runs=scored)


_ID = 36

_Known = dict[str, tuple[Run, RunRequest | None] | Literal["hidden", "gone"]]
"""Runs of rounds by id, as far as they were looked up."""


def _seen_inside(
    service: Service, viewer: Viewer, run_id: str
) -> tuple[Run, RunRequest | None] | Literal["hidden", "gone"]:
    """Return a run that the viewer sees all of with its request, or why not."""
    try:
        found = readable_run(service, viewer, run_id)
    except UnknownName:
        try:
            service.store.runs.get(run_id)
        except UnknownName:
            return "gone"
        return "hidden"
    return found if viewer.sees_inside(found[1]) else "hidden"


def _labels(given: Sequence[ReviewLabel]) -> tuple[AskedLabel, ...]:
    return tuple(msgspec.convert(label.model_dump(), AskedLabel) for label in given)


def _episode_filter(given: RoundInput) -> EpisodeFilter:
    one = given.filter
    return EpisodeFilter(
        statuses=tuple(EpisodeStatus(state) for state in one.state),
        causes=tuple(one.cause),
        text=one.q,
        outcome=one.outcome,
        score_low=one.low,
        score_high=one.high,
        label=one.label,
    )


def _finished(run: VisibleRun, wanted: EpisodeFilter) -> Iterator[Episode]:
    """Yield the matching episodes that were played to their end. Raises Refusal 422 for too many."""
    cursor: str | None = None
    found = 0
    while True:
        page = run.episodes(wanted, "position", cursor, _PAGE)
        for episode in page.items:
            if episode.ended_at is not None and episode.valid:
                found += 1
                yield episode
        if found > MOST_MATCHING:
            raise Refusal(422, f"more than {MOST_MATCHING:,} episodes of run {run.id} match; give a narrower filter")
        cursor = page.cursor
        if cursor is None:
            return


def _drawn(given: RoundInput, matching: int, chosen: int) -> tuple[str, bool]:
    """Return in words which episodes a round has, and whether they stand for all of the runs."""
    one = given.filter
    parts = [one.outcome.replace("fail", "not passed").replace("pass", "passed") if one.outcome else ""]
    parts += [*one.state, *one.cause, one.label, f"“{one.q}”" if one.q else ""]
    if one.low is not None or one.high is not None:
        parts.append(
            f"score {'' if one.low is None else f'{one.low:g}'} – {'' if one.high is None else f'{one.high:g}'}"
        )
    words = ", ".join(part for part in parts if part)
    count = f"{chosen:,} of {matching:,} drawn at random" if chosen < matching else f"all {chosen:,}"
    return f"{count}, {words}" if words else count, not words


def _name(runs: Sequence[VisibleRun], words: str) -> str:
    titles = list(dict.fromkeys(run.record.benchmark_title or run.record.benchmark for run in runs))
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    return f"{titles[0]}{more}, {words}, {time.strftime('%Y-%m-%d')}"[:200]


def _interval(found: Interval | None) -> IntervalDocument | None:
    if found is None:
        return None
    low, high = (found.low, found.high) if found.bounded else (None, None)
    return IntervalDocument(value=found.value, low=low, high=high, weak=found.weak, n=found.n, method=found.method)


def _pair(one: str, other: str, found: Agreement | None) -> PairDocument:
    if found is None:
        return PairDocument(one=one, other=other, n=0, observed=None, kappa=None, why="no episode was judged by both")
    why = ""
    if found.kappa is None:
        why = "κ does not exist: both say the same of every episode, so chance would agree too"
    elif not found.kappa.bounded:
        why = "too few episodes for an interval"
    return PairDocument(one=one, other=other, n=found.n, observed=found.observed, kappa=_interval(found.kappa), why=why)


def _fitness(found: Agreement | None, bar: float) -> str:
    if found is None:
        return "not known: no episode was judged by both"
    if found.kappa is None:
        return "not known: κ does not exist, both say the same of every episode"
    if not found.kappa.bounded:
        return "not yet: too few episodes for an interval"
    low = found.kappa.low
    return f"fit: lower end {low:.2f}, bar {bar:g}" if low >= bar else f"not yet: lower end {low:.2f}, bar {bar:g}"


def _uncorrected(made: Round, rate: float | None, corrected: Interval | None) -> str:
    if corrected is not None:
        return ""
    if not made.random:
        return "the episodes were chosen by a filter, so they do not stand for the whole run"
    if rate is None:
        return "too many episodes to compute it"
    return "people called nothing right or nothing wrong, or the grader does no better than chance"


def local_rounds(store: Store) -> VisibleRounds:
    """Return the review rounds of a laptop's store."""
    service = local_service(store)
    return VisibleRounds(service, service.viewer(service.nobody))


def local_round(store: Store, round_id: str) -> VisibleRound:
    """Return a review round of a laptop's store, by its id or a prefix of it. Raises UnknownName."""
    service = local_service(store)
    return VisibleRound.find(service, service.viewer(service.nobody), round_id)
