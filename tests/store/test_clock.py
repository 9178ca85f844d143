"""The time that leases go by."""

import time
from types import SimpleNamespace

import pytest

from mesocosm.store import Store, clock
from mesocosm.store.clock import now

WRONG_S = 60_000.0


def test_a_machine_whose_clock_is_wrong_goes_by_that_of_the_server(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = SimpleNamespace(time=lambda: time.time() + WRONG_S, monotonic=time.monotonic)
    clock._ahead.clear()
    monkeypatch.setattr(clock, "time", wrong)
    first, second = store.database.read(now), store.database.read(now)
    clock._ahead.clear()

    # Nobody but this machine writes to a file, so there its own clock is the right one.
    expected = time.time() + (0.0 if store.database.postgres else WRONG_S)
    assert first <= second
    assert abs(second - expected) < WRONG_S / 2
