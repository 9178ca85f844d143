"""The listener for callbacks: whom it hears, and what it answers."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from mesocosm.http.client import HttpClient
from mesocosm.rollouts.processes.http_transport import Callbacks
from mesocosm.rollouts.processes.transport import PendingResults


class Sender:
    def __init__(self, callbacks: Callbacks, client: HttpClient, notices: list[str]) -> None:
        self.callbacks = callbacks
        self.client = client
        self.notices = notices

    async def send(
        self, expected: PendingResults, body: Any, url: str = "", key: str = "", method: str = "POST"
    ) -> int:
        headers = {"Authorization": f"Bearer {key or expected.replies.key}"}
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        url = url or expected.replies.completion
        return (await self.client.request(method, url, headers=headers, body=data, timeout=60)).status


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    notices: list[str] = []
    callbacks = Callbacks(notices.append)
    await callbacks.start()
    async with HttpClient() as client:
        yield Sender(callbacks, client, notices)
    await callbacks.stop()


async def test_a_completion_and_a_grading_arrive(sender: Sender) -> None:
    expected = sender.callbacks.expect("a-1")
    assert await sender.send(expected, {"status": "success", "rollout_id": "a-1", "unknown": 1}) == 200
    assert await sender.send(expected, {"status": "failure", "err_message": "x"}, expected.replies.grading) == 200
    assert (await expected.completion).status == "success"
    assert (await expected.grading).err_message == "x"


async def test_a_wrong_key_is_refused(sender: Sender) -> None:
    expected = sender.callbacks.expect("a-1")
    assert await sender.send(expected, {"status": "success"}, key="wrong") == 401
    assert not expected.completion.done()


async def test_another_try_and_an_unknown_path_are_refused(sender: Sender) -> None:
    expected = sender.callbacks.expect("a-1")
    url = expected.replies.completion
    assert await sender.send(expected, {"status": "success"}, url.replace("a-1", "a-2")) == 401
    assert await sender.send(expected, {"status": "success"}, url.replace("completion", "other")) == 404
    assert await sender.send(expected, {"status": "success"}, method="PUT") == 405


async def test_the_key_of_one_try_reports_for_no_other(sender: Sender) -> None:
    mine, other = sender.callbacks.expect("a-1"), sender.callbacks.expect("a-2")
    forged = {"status": "success", "sample": {"reward": 1.0}}
    assert await sender.send(mine, forged, other.replies.grading) == 401
    assert not other.grading.done()


@pytest.mark.parametrize("body", [b"{", b'{"status": NaN}', b"[]", b'{"status": "success", "err_message": "\\ud800"}'])
async def test_a_callback_that_cannot_be_read_ends_its_try_and_says_so(sender: Sender, body: bytes) -> None:
    expected = sender.callbacks.expect("a-1")
    assert await sender.send(expected, body) == 422
    told = expected.completion.result()
    assert (told.status, told.err_category) == ("failure", None)
    assert "the server's completion callback cannot be read" in str(told.err_message)


@pytest.mark.parametrize("body", [{"status": "running"}, {"status": "success", "rollout_id": "a-9"}])
async def test_what_ends_nothing_is_refused(sender: Sender, body: Any) -> None:
    expected = sender.callbacks.expect("a-1")
    assert await sender.send(expected, body) == 422
    assert not expected.completion.done()


async def test_an_identical_callback_is_acknowledged_in_silence(sender: Sender) -> None:
    expected = sender.callbacks.expect("a-1")
    assert [await sender.send(expected, {"status": "success"}) for _ in range(2)] == [200, 200]
    assert sender.notices == []


async def test_a_callback_after_the_end_is_acknowledged(sender: Sender) -> None:
    expected = sender.callbacks.expect("a-1")
    sender.callbacks.forget("a-1")
    assert await sender.send(expected, {"status": "failure"}) == 200
    assert not expected.completion.done()
