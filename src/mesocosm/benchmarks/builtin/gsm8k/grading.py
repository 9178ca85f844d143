"""Find the final number that a reply states, and compare it with the right one."""

from mesocosm.core.conclusion import answer_of
from mesocosm.core.number import stated_number

_TAIL = 20_000
"""Number of characters at the end of a reply that are searched for the answer."""
_NEAR = 1e-6


def same(given: float | None, gold: float) -> bool:
    """Return whether a stated number is the right one."""
    return given is not None and abs(given - gold) < _NEAR


def stated(reply: str) -> float | None:
    """Return the final number of a reply, or None if it states none."""
    return stated_number(answer_of(reply)[-_TAIL:])
