"""Device logins on each dialect: several servers ask at once, and each approval is given out once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mesocosm.store import Store
from mesocosm.store.device_logins import DeviceLogin, DeviceState
from mesocosm.store.users import User


@pytest.fixture
def user(store: Store) -> User:
    return store.users.add("ada")


def begin(store: Store, digest: str = "d", code: str = "c") -> bool:
    """Add a login, and return whether it was added."""
    now = time.time()
    return store.device_logins.add(DeviceLogin("program", "laptop", "192.0.2.1", now, now + 600), digest, code)


def test_a_code_that_waits_is_not_given_out_again(store: Store) -> None:
    assert [begin(store), begin(store, "e"), begin(store, "e", "f")] == [True, False, True]


def test_of_programs_that_ask_at_once_one_gets_the_login(store: Store, user: User) -> None:
    begin(store)
    assert store.device_logins.decide("c", user, DeviceState.APPROVED)
    with ThreadPoolExecutor(8) as pool:
        polls = list(pool.map(lambda _: store.device_logins.poll("d", 5.0), range(8)))
    assert sorted(poll.state for poll in polls) == ["approved", *["expired"] * 7]


def test_of_people_who_decide_at_once_one_is_heard(store: Store, user: User) -> None:
    begin(store)
    states = [DeviceState.APPROVED, DeviceState.DENIED] * 4
    with ThreadPoolExecutor(8) as pool:
        heard = list(pool.map(lambda state: store.device_logins.decide("c", user, state), states))
    assert heard.count(True) == 1
    assert store.device_logins.poll("d", 5.0).state == states[heard.index(True)]


def test_a_login_goes_with_who_approved_it(store: Store, user: User) -> None:
    begin(store)
    store.device_logins.decide("c", user, DeviceState.APPROVED)
    store.users.set_epoch(user.id, user.epoch + 1)
    assert store.device_logins.poll("d", 5.0).state is DeviceState.EXPIRED
