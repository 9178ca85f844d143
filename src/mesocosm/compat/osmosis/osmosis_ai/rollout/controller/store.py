"""Match the callbacks of rollouts with those who wait for them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel

from mesocosm.rollouts.sdk.request import GraderCompleteRequest, RolloutCompleteRequest

__all__ = [
    "CallbackStore",
    "DuplicateRegistrationError",
    "TerminalCallbackResult",
    "UnknownRolloutIdError",
    "duplicate_callback_payload",
]

_LOG = logging.getLogger(__name__)

TerminalSource = Literal["grader", "timeout", "cancelled"]


class UnknownRolloutIdError(KeyError):
    """The store has never expected this rollout, or was told to forget it before its end."""


class DuplicateRegistrationError(ValueError):
    """The store expects this rollout already, or has its end."""


def _accepted() -> Mapping[str, Any]:
    return {"ok": True}


@dataclass(frozen=True)
class TerminalCallbackResult:
    """How a rollout ended: by its grade, by a timeout, or cancelled; with what the callbacks said until then."""

    rollout_id: str
    source: TerminalSource
    completion: RolloutCompleteRequest | None = None
    grader: GraderCompleteRequest | None = None
    acknowledgment: Mapping[str, Any] = field(default_factory=_accepted)


Commit = Callable[[TerminalCallbackResult], Awaitable[Mapping[str, Any] | None]]


@dataclass(slots=True)
class _Slot:
    ended: asyncio.Future[TerminalCallbackResult]
    completion: RolloutCompleteRequest | None = None
    commit: asyncio.Task[TerminalCallbackResult] | None = None


def duplicate_callback_payload(left: BaseModel | None, right: BaseModel | None) -> bool:
    """Return whether two callbacks say the same."""
    return left == right


class CallbackStore:
    """Holds the callbacks of rollouts; the first end of a rollout counts, and every later callback gets its answer.

    `on_terminal_commit` is awaited with each end before it is acknowledged, once, even if the sender hangs up; it may
    return the acknowledgment. If it raises, so does the call, and the rollout has not ended: a repeated callback
    commits it.
    """

    def __init__(self, *, on_terminal_commit: Commit) -> None:
        self._commit = on_terminal_commit
        self._slots: dict[str, _Slot] = {}
        self._ends: dict[str, TerminalCallbackResult] = {}

    async def register(self, rollout_id: str) -> None:
        """Expect the callbacks of a rollout. Raises DuplicateRegistrationError."""
        if rollout_id in self._slots or rollout_id in self._ends:
            raise DuplicateRegistrationError(f"rollout {rollout_id!r} is registered already")
        self._slots[rollout_id] = _Slot(asyncio.get_running_loop().create_future())

    async def discard(self, rollout_id: str) -> None:
        """Stop expecting a rollout: who waits for it is cancelled. An end that was accepted is remembered."""
        slot = self._slots.pop(rollout_id, None)
        if slot is not None:
            slot.ended.cancel()

    async def handle_completion(self, rollout_id: str, request: RolloutCompleteRequest) -> dict[str, Any]:
        """Take the end of a workflow; the rollout ends with its grade. Raises UnknownRolloutIdError."""
        slot, end = self._find(rollout_id)
        known = end.completion if slot is None and end is not None else slot.completion if slot is not None else None
        self._compare(known, request, rollout_id)
        if slot is not None and slot.completion is None:
            slot.completion = request
        return dict(end.acknowledgment if end is not None else _accepted())

    async def handle_grader(self, rollout_id: str, request: GraderCompleteRequest) -> dict[str, Any]:
        """Take a grade, which ends the rollout. Raises UnknownRolloutIdError, and what the commit raises."""
        end = await self._end(rollout_id, "grader", grader=request)
        self._compare(end.grader, request, rollout_id)
        return dict(end.acknowledgment)

    async def finalize_timeout(
        self, rollout_id: str, *, acknowledgment: Mapping[str, Any] | None = None
    ) -> TerminalCallbackResult:
        """End a rollout whose callback did not come, and return its end. Raises as `handle_grader` does."""
        return await self._end(rollout_id, "timeout", acknowledgment=acknowledgment)

    async def acknowledge_without_commit(
        self,
        rollout_id: str,
        *,
        source: TerminalSource = "cancelled",
        acknowledgment: Mapping[str, Any] | None = None,
    ) -> TerminalCallbackResult:
        """End a rollout without committing it, and return its end. Raises UnknownRolloutIdError."""
        return await self._end(rollout_id, source, acknowledgment=acknowledgment, committing=False)

    async def wait_terminal(self, rollout_id: str) -> TerminalCallbackResult:
        """Return how a rollout ended, as soon as it has. Raises UnknownRolloutIdError."""
        slot, end = self._find(rollout_id)
        if end is not None:
            return end
        assert slot is not None
        return await asyncio.shield(slot.ended)

    def _find(self, rollout_id: str) -> tuple[_Slot | None, TerminalCallbackResult | None]:
        slot, end = self._slots.get(rollout_id), self._ends.get(rollout_id)
        if slot is None and end is None:
            raise UnknownRolloutIdError(rollout_id)
        return slot, end

    async def _end(
        self,
        rollout_id: str,
        source: TerminalSource,
        *,
        grader: GraderCompleteRequest | None = None,
        acknowledgment: Mapping[str, Any] | None = None,
        committing: bool = True,
    ) -> TerminalCallbackResult:
        slot, end = self._find(rollout_id)
        if end is not None:
            return end
        assert slot is not None
        if slot.commit is None:
            result = TerminalCallbackResult(rollout_id, source, slot.completion, grader, acknowledgment or _accepted())
            if not committing:
                return self._settle(slot, result)
            slot.commit = asyncio.create_task(self._committed(slot, result))
        # Shielded: a sender that hangs up must not interrupt the commit of others.
        return await asyncio.shield(slot.commit)

    async def _committed(self, slot: _Slot, result: TerminalCallbackResult) -> TerminalCallbackResult:
        try:
            said = await self._commit(result)
        except BaseException:
            slot.commit = None
            raise
        return self._settle(slot, result if said is None else replace(result, acknowledgment=dict(said)))

    def _settle(self, slot: _Slot, result: TerminalCallbackResult) -> TerminalCallbackResult:
        self._ends[result.rollout_id] = result
        if not slot.ended.done():
            slot.ended.set_result(result)
        return result

    def _compare(self, known: BaseModel | None, told: BaseModel, rollout_id: str) -> None:
        if known is not None and not duplicate_callback_payload(known, told):
            _LOG.error("a callback of rollout %s contradicts an earlier one; the first counts", rollout_id)
