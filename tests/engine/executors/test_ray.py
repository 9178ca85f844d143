"""The executor `ray` without a cluster: addresses, messages in order, reasons in plain words."""

import asyncio
import os
from typing import Any

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.engine.executors import ray
from mesocosm.engine.executors.links import LinkLost
from mesocosm.engine.executors.ray import RayAddress, RayWorker, gone, open_ray, settings_of


@pytest.mark.parametrize(
    ("text", "place", "actors"),
    [
        ("", "auto", 0),
        ("auto", "auto", 0),
        ("actors=3", "auto", 3),
        ("auto,actors=8", "auto", 8),
        ("local,actors=2", "local", 2),
        ("head.cluster:6379", "head.cluster:6379", 0),
        ("10.0.0.7:6379,actors=64", "10.0.0.7:6379", 64),
        ("ray://head:10001,actors=4", "ray://head:10001", 4),
    ],
)
def test_an_address_names_a_cluster_and_a_number_of_actors(text: str, place: str, actors: int) -> None:
    assert RayAddress.parse(text) == RayAddress(place, actors)


@pytest.mark.parametrize(
    "text", ["head", "autoactors=2", "auto,8", "auto,actors=0", "auto,actors=-1", "http://head:8265", "a:b"]
)
def test_an_address_that_names_nothing_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="ray:auto,actors=8"):
        RayAddress.parse(text)


def test_without_the_package_its_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'mesocosm\[ray\]'"):
        open_ray("auto")


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> RayWorker:
    """Return the actor's object in this process, with a worker that sends back what it receives."""

    async def echo(link: Any) -> None:
        try:
            while True:
                await link.send(await link.receive())
        except LinkLost:
            pass

    monkeypatch.setattr(ray, "serve", echo)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    return RayWorker("/", [], {})


async def test_messages_that_ray_brings_in_another_order_are_read_in_that_of_the_session(worker: RayWorker) -> None:
    for number in (3, 1, 4, 2):
        await worker.take(number, b"%d" % number)
    found: list[bytes] = []
    while len(found) < 4:
        found += await worker.give()
    assert found == [b"1", b"2", b"3", b"4"]
    await worker.end()


async def test_a_worker_waits_while_the_session_does_not_fetch_its_messages(
    worker: RayWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "MOST_BYTES", 10)
    for number in range(1, 6):
        await worker.take(number, b"seven b")
    sizes: list[int] = []
    while sum(sizes) < 5:
        sizes.append(len(await worker.give()))
        await asyncio.sleep(0)
    assert max(sizes) <= 2
    await worker.end()


async def test_a_worker_that_waits_for_room_ends_with_the_session(
    worker: RayWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "MOST_BYTES", 1)
    await worker.take(1, b"too long")
    await asyncio.wait_for(worker.end(), 60)


def test_an_actor_has_the_settings_of_the_session_in_place_of_its_own_and_keeps_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"OPENAI_BASE_URL": "http://node/v1", "GROQ_BASE_URL": "http://node/v1", "MESOCOSM_API_KEY": "of the node"}
    monkeypatch.setattr(os, "environ", own)
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    RayWorker("/", [], {"OPENAI_BASE_URL": "http://session/v1"})
    assert own == {"OPENAI_BASE_URL": "http://session/v1", "MESOCOSM_API_KEY": "of the node"}


def test_settings_hold_no_secret() -> None:
    variables = {
        "MESOCOSM_PRICES": "prices.json",
        "MESOCOSM_API_KEY": "sk-123",
        "MESOCOSM_DATABASE_URL": "postgresql://me:password@host/db",
        "OPENAI_BASE_URL": "https://me:password@host/v1",
        "GROQ_API_BASE": "https://host/v1",
        "HOME": "/home/me",
    }
    assert settings_of(variables) == {"MESOCOSM_PRICES": "prices.json", "GROQ_API_BASE": "https://host/v1"}


def test_causes_that_ray_only_guesses_are_not_told() -> None:
    text = (
        "The actor died unexpectedly before finishing this task.\n\tclass_name: RayWorker\n"
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
        "Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the "
        "process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called"
    )
    assert gone(RuntimeError(text)) == "its process crashed or was killed"


def test_a_module_that_only_begins_like_ours_is_not_taken_for_it() -> None:
    said = gone(RuntimeError("The actor died in its creation task\nModuleNotFoundError: No module named 'mesocosmic'"))
    assert "not installed" not in said
    assert (
        gone(RuntimeError("ModuleNotFoundError: No module named 'mesocosm'")) == "mesocosm is not installed on its node"
    )
