"""Seats in runs: who may offer, take, deliver and read; each call may be repeated after a lost connection."""

import asyncio
import selectors
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select

from mesocosm.core.failure import RunLeased, UsageError
from mesocosm.core.ports import Seat, SeatMessage
from mesocosm.store import Store, open_store
from mesocosm.store.bell import SqlBell, ring
from mesocosm.store.lease_owner import this_process
from mesocosm.store.tenancy import seat_messages

ME = this_process()
OTHER = msgspec.structs.replace(ME, pid=ME.pid + 1, started=1.0)
OVER = -1.0
"""A lease that is over when it is given."""


@pytest.fixture
def seated(empty_postgres: Callable[[], str]) -> Iterator[Store]:
    """An empty store with seats."""
    store = open_store(empty_postgres())
    yield store
    store.close()


def offer(store: Store, run_id: str, count: int = 1) -> None:
    store.seats.exchange(run_id, ME, count, (), {})


def taken(store: Store, run_id: str, lease_s: float = 60.0) -> Seat:
    seat = store.seats.take("helper", lease_s, run_id=run_id)
    assert seat is not None
    return seat


def heard(store: Store, run_id: str, **received: int) -> list[bytes]:
    return [message.body for message in store.seats.exchange(run_id, ME, 0, (), received)[1]]


def test_a_file_has_no_seats(sqlite_store: Store) -> None:
    with pytest.raises(UsageError, match=r"queue needs PostgreSQL, .*processes:N, or name a database"):
        sqlite_store.seats.check()


@pytest.mark.postgres
def test_messages_come_in_order_until_they_were_received(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    seat = taken(seated, run.id)
    sent = [SeatMessage(seat.id, number, b"%d" % number) for number in (1, 2, 3)]
    seated.seats.visit(seat, 60.0, sent[:2], 0)
    seated.seats.visit(seat, 60.0, sent[2:], 0)
    assert heard(seated, run.id) == [b"1", b"2", b"3"]
    assert heard(seated, run.id) == [b"1", b"2", b"3"]
    assert heard(seated, run.id, **{seat.id: 2}) == [b"3"]
    assert heard(seated, run.id) == [b"3"]


@pytest.mark.postgres
def test_a_message_that_is_posted_twice_is_there_once(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    seat = taken(seated, run.id)
    message = SeatMessage(seat.id, 1, b"once")
    for _ in range(2):
        seated.seats.visit(seat, 60.0, [message], 0)
        seated.seats.exchange(run.id, ME, 0, [message], {})
    assert heard(seated, run.id) == [b"once"]
    assert seated.seats.visit(seat, 60.0, (), 0) == [message]


@pytest.mark.postgres
def test_a_helper_whose_lease_is_over_delivers_nothing(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    seat = taken(seated, run.id, OVER)
    assert seated.seats.visit(seat, 60.0, [SeatMessage(seat.id, 1, b"late")], 0) is None
    with seated.database.once() as connection:
        assert connection.scalar(select(func.count()).select_from(seat_messages)) == 0


@pytest.mark.postgres
def test_a_seat_whose_lease_is_over_is_removed_with_what_was_not_read(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    seat = taken(seated, run.id)
    seated.seats.visit(seat, OVER, [SeatMessage(seat.id, 1, b"unread")], 0)
    assert seated.seats.exchange(run.id, ME, 0, (), {}) == ([], [])
    assert seated.seats.visit(seat, 60.0, (), 0) is None


@pytest.mark.postgres
def test_nobody_delivers_with_the_token_of_another_seat(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id, 2)
    one, other = taken(seated, run.id), taken(seated, run.id)
    assert seated.seats.visit(one._replace(proof=other.proof), 60.0, [SeatMessage(one.id, 1, b"mine")], 0) is None
    assert heard(seated, run.id) == []


@pytest.mark.postgres
def test_only_the_process_that_has_the_run_offers_seats(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    with pytest.raises(RunLeased):
        seated.seats.exchange(run.id, OTHER, 1, (), {})
    with pytest.raises(RunLeased):
        seated.seats.clear(run.id, OTHER)
    assert seated.seats.take("helper", 60.0) is None


@pytest.mark.postgres
def test_seats_of_a_run_that_nobody_works_on_are_not_taken_and_are_lost(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id, 2)
    seat = taken(seated, run.id)
    seated.leases.release(run.id, ME)
    assert seated.seats.take("helper", 60.0) is None
    assert seated.seats.visit(seat, 60.0, [SeatMessage(seat.id, 1, b"late")], 0) is None


@pytest.mark.postgres
def test_free_seats_are_offered_up_to_the_number_that_is_wanted(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    for _ in range(3):
        offer(seated, run.id, 2)
    found = [seated.seats.take("helper", 60.0) for _ in range(3)]
    assert [seat is not None for seat in found] == [True, True, False]


@pytest.mark.postgres
def test_the_run_with_the_fewest_helpers_gets_the_next_one(seated: Store, samples: Any) -> None:
    runs = [samples.held(seated, created_at=float(at)) for at in (1, 2)]
    for run in runs:
        offer(seated, run.id, 3)
    found = [seated.seats.take("helper", 60.0) for _ in range(4)]
    assert [seat.run_id for seat in found if seat] == [runs[0].id, runs[1].id, runs[0].id, runs[1].id]


@pytest.mark.postgres
def test_workers_of_a_server_take_no_seats_in_runs_of_the_command_line(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    assert seated.seats.take("helper", 60.0, hosted=True) is None
    assert seated.seats.take("helper", 60.0, without=[run.id]) is None
    assert seated.seats.take("helper", 60.0) is not None


@pytest.mark.postgres
def test_no_seat_is_taken_twice(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id, 6)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: seated.seats.take("helper", 60.0), range(12)))
    ids = [seat.id for seat in found if seat is not None]
    assert len(ids) == len(set(ids)) == 6


@pytest.mark.postgres
def test_a_helper_that_leaves_says_why_after_its_last_message(seated: Store, samples: Any) -> None:
    run = samples.held(seated)
    offer(seated, run.id)
    seat = taken(seated, run.id)
    seated.seats.visit(seat, 60.0, [SeatMessage(seat.id, 1, b"last")], 0)
    seated.seats.leave(seat, "no such file")
    (news,), messages = seated.seats.exchange(run.id, ME, 0, (), {})
    assert (news.left, news.reason, [one.body for one in messages]) == (True, "no such file", [b"last"])
    seated.seats.withdraw([seat.id])
    assert seated.seats.exchange(run.id, ME, 0, (), {}) == ([], [])


@pytest.mark.postgres
def test_a_bell_wakes_whoever_waits_when_another_connection_rings(seated: Store) -> None:
    bell = seated.seats.bell()
    bell.wait(60.0)  # it has begun to listen
    woken = threading.Event()

    def wait() -> None:
        bell.wait(60.0)
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    seated.database.write(ring)
    thread.join(30)
    assert woken.is_set()
    bell.close()


def test_a_bell_wakes_its_own_thread_without_a_database_server(sqlite_store: Store) -> None:
    bell = sqlite_store.seats.bell()
    bell.ring()
    bell.wait(60.0)
    bell.close()


def test_a_closed_bell_writes_into_no_other_file(sqlite_store: Store, tmp_path: Path) -> None:
    bell = sqlite_store.seats.bell()
    bell.close()
    with (tmp_path / "one").open("wb") as one, (tmp_path / "other").open("wb") as other:
        bell.ring()
        bell.close()
        one.write(b"kept")
        other.write(b"kept")
    assert [(tmp_path / name).read_bytes() for name in ("one", "other")] == [b"kept", b"kept"]


async def test_a_wait_that_nothing_ended_leaves_nothing_that_would_end_the_next_one(sqlite_store: Store) -> None:
    bell = sqlite_store.seats.bell()
    await bell.first(0.0)
    await bell.first(0.0)
    assert _quiet(bell)
    bell.close()


async def test_what_else_ends_a_wait_ends_it_and_only_it(sqlite_store: Store) -> None:
    bell = sqlite_store.seats.bell()
    other = asyncio.ensure_future(asyncio.sleep(0))
    await bell.first(3600.0, other)
    assert other.done()
    assert _quiet(bell)
    bell.close()


def _quiet(bell: SqlBell) -> bool:
    """Return whether nothing would end the next wait at once."""
    with selectors.DefaultSelector() as found:
        found.register(bell._awake, selectors.EVENT_READ)
        return not found.select(0)
