"""Track model calls of an episode that stayed unanswered: a result obtained without them does not count."""

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
    """A call in progress: its start, the failure of its last try, and whether its question is already lost."""

    began: int
    failed: EpisodeError | None = None
    lost: bool = False


class UnansweredCalls:
    """The calls of one episode to one model, each in its own task or one after another.

    A question is identified by its messages. An unanswered question is lost until a call with the same messages that
    started after the loss is answered; equal concurrent calls are separate questions.

    A request that the server rejected is not lost, since it may be rephrased, unless `strict`.
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
        """Start a call; it is in progress until the block is left."""
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
        """Record a failed try. `matters`: a program that ends with this failure has no result."""
        call = self._call
        call.failed = error
        self.failing, self._matters, self._failed_at, self._failed_by = error, matters, self._clock, call

    def lost(self, messages: Sequence[Message], error: EpisodeError, unread: str = "") -> None:
        """Record that a call stays unanswered. It is lost if the model could have answered it at another time.

        If `strict`, it is lost for any failure of the model's side. A call that repeats a lost question replaces that
        loss.
        """
        call = self._call
        if not call.lost and (self._strict or error.rule.retried) and error.rule.boundary is Boundary.MODEL:
            key, call.lost = _key(messages, unread), True
            self._take(key)
            self._lost.setdefault(key, []).append((self._clock, error))

    def answered(self, messages: Sequence[Message], unread: str = "") -> None:
        """Record that a call was answered, which resolves an earlier loss of the same question."""
        self._answers += 1
        self._went_on()
        if self._lost:
            self._take(_key(messages, unread))

    def given_up(
        self, messages: Sequence[Message], unread: str = "", *, begun: bool = False, away: EpisodeError | None = None
    ) -> None:
        """Record that the client gave a call up. It is lost if a try had failed or the server was `away`.

        If the client had `begun` to read the answer, the call counts as answered. Otherwise it says nothing about the
        model, unless no call was answered.
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
        """The failure of the last call if it is the model side's and says nothing about the agent, else None."""
        failing = self.failing
        if failing is None or failing.rule.valid or failing.rule.boundary is not Boundary.MODEL:
            return None
        return failing

    @property
    def missed(self) -> EpisodeError | None:
        """Why there is no result although the program ended well; None if there is one.

        It is the failure of the last call, of a lost question, or of a call that is still being retried. If no call was
        answered at all, a call that was given up counts too.
        """
        last = self.at_fault if self._matters else None
        return last or self._first_lost or (None if self._answers else self._left)

    @property
    def blamed(self) -> EpisodeError | None:
        """The failure that may have caused a failure of the program, None if there is none.

        It is one of the model's side, or the last call if its conversation was too long for the model.
        """
        last = self.failing
        too_long = last if last is not None and last.cause is Cause.CONTEXT_OVERFLOW else None
        return self.at_fault or self._first_lost or too_long

    @property
    def _first_lost(self) -> EpisodeError | None:
        lost = [loss for losses in self._lost.values() for loss in losses]
        if lost:
            return min(lost, key=lambda loss: loss[0])[1]
        return next((call.failed for call in self._calls.values() if call.failed is not None), None)

    def _went_on(self) -> None:
        """Forget the last failure, unless another call failed after this one started."""
        call = self._call
        if self._failed_by is call or call.began > self._failed_at:
            self.failing = None

    def _take(self, key: str) -> None:
        """Remove the latest loss of a question that is older than the current call."""
        losses, began = self._lost.get(key, []), self._call.began
        for place in reversed(range(len(losses))):
            if losses[place][0] < began:
                del losses[place]
                break
        if not losses:
            self._lost.pop(key, None)


def _key(messages: Sequence[Message], unread: str) -> str:
    return unread or digest_bytes(msgspec.json.encode(list(messages)))
