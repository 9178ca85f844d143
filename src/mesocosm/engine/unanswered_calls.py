"""Which calls of an episode its model's side left unanswered: a result that came about without them is none."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from mesocosm.core.failure import Boundary, Cause, EpisodeError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.message import Message


@dataclass(slots=True)
class _Call:
    """A call under way: when it began, the failure of its last try, and whether its question is lost already."""

    began: int
    failed: EpisodeError | None = None
    lost: bool = False


class UnansweredCalls:
    """The calls of one episode to one model, each made in a task of its own or one after the other.

    A question is known by its messages. One that stays unanswered is lost until a call with the same messages, which
    began after the loss, is answered: equal calls that are made at once are questions of their own.

    A request that the server refused may be put in another way, so it is not lost, unless this is `strict`.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.failing: EpisodeError | None = None
        self._matters = True
        self._clock = 0
        self._failed_at = 0
        self._failed_by: _Call | None = None
        self._calls: dict[asyncio.Task[object] | None, _Call] = {}
        self._lost: dict[str, list[tuple[int, EpisodeError]]] = {}
        self._answers = 0
        self._left: EpisodeError | None = None

    @contextmanager
    def call(self) -> Iterator[None]:
        """Begin a call; it is under way until the block is left."""
        task = asyncio.current_task()
        self._clock += 1
        self._calls[task] = _Call(self._clock)
        try:
            yield
        finally:
            self._calls.pop(task, None)

    @property
    def _call(self) -> _Call:
        return self._calls.get(asyncio.current_task()) or _Call(self._clock + 1)

    def failed(self, error: EpisodeError, *, matters: bool = True) -> None:
        """Note that a try failed. `matters` says whether a program that ends with it has no result."""
        call = self._call
        call.failed = error
        self.failing, self._matters, self._failed_at, self._failed_by = error, matters, self._clock, call

    def lost(self, messages: Sequence[Message], error: EpisodeError, unread: str = "") -> None:
        """Note that a call stays unanswered. It is lost where the model could have answered it at another time.

        Where this is strict, it is lost whatever the model's side failed for.

        A call that asks again what was lost before takes the place of that loss.
        """
        call = self._call
        if not call.lost and (self._strict or error.rule.retried) and error.rule.boundary is Boundary.MODEL:
            key, call.lost = _key(messages, unread), True
            self._take(key)
            self._lost.setdefault(key, []).append((self._clock, error))

    def answered(self, messages: Sequence[Message], unread: str = "") -> None:
        """Note that a call was answered: what was lost of the same question before it began is found."""
        self._answers += 1
        self._went_on()
        if self._lost:
            self._take(_key(messages, unread))

    def given_up(
        self, messages: Sequence[Message], unread: str = "", *, begun: bool = False, away: EpisodeError | None = None
    ) -> None:
        """Note that whoever asked went away. It is lost where a try of it had failed, or the server was `away`.

        Who has `begun` to read the answer was answered. Else it says nothing of the model, unless nothing else does.
        """
        call = self._call
        if begun:
            self._answers += 1
            self._went_on()
            return
        if error := call.failed or away:
            self.lost(messages, error, unread)
        words = "the program gave the call up before anything of an answer had come"
        self._left = self._left or EpisodeError(Cause.MODEL_TIMEOUT, words)

    @property
    def at_fault(self) -> EpisodeError | None:
        """The failure of the last call, where it is that of the model's side and says nothing about the agent."""
        failing = self.failing
        if failing is None or failing.rule.valid or failing.rule.boundary is not Boundary.MODEL:
            return None
        return failing

    @property
    def missed(self) -> EpisodeError | None:
        """Why there is no result although the program ended well; None where it has one.

        That is the failure of the last call, of a question that is lost, or of a call that is still repeated.
        Where no call was answered at all, one that was given up counts too.
        """
        last = self.at_fault if self._matters else None
        return last or self._first_lost or (None if self._answers else self._left)

    @property
    def blamed(self) -> EpisodeError | None:
        """The failure of the model's side that a failure of the program may follow from."""
        return self.at_fault or self._first_lost

    @property
    def _first_lost(self) -> EpisodeError | None:
        lost = [loss for losses in self._lost.values() for loss in losses]
        if lost:
            return min(lost, key=lambda loss: loss[0])[1]
        return next((call.failed for call in self._calls.values() if call.failed is not None), None)

    def _went_on(self) -> None:
        """Forget the last failure, unless it is that of another call and this one had begun before it."""
        call = self._call
        if self._failed_by is call or call.began > self._failed_at:
            self.failing = None

    def _take(self, key: str) -> None:
        """Take out the last loss of a question that is older than the call."""
        losses, began = self._lost.get(key, []), self._call.began
        for place in reversed(range(len(losses))):
            if losses[place][0] < began:
                del losses[place]
                break
        if not losses:
            self._lost.pop(key, None)


def _key(messages: Sequence[Message], unread: str) -> str:
    return unread or digest_bytes(msgspec.json.encode(list(messages)))
