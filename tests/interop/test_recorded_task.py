"""The task of an episode is read from its trace, whatever kind of benchmark recorded it."""

from typing import Any

import msgspec
import pytest

from mesocosm.core.entry import Blob
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.core.task import Task
from mesocosm.interop.recorded_task import RecordedTask, read_task

ROW = {"prompt": [{"role": "user", "content": "1 + 1?"}], "metadata": {"level": 1}}


class Blobs:
    """Large content in memory."""

    def __init__(self, **known: bytes) -> None:
        self._known = known

    def get(self, digest: str) -> Blob:
        """Return a blob."""
        if digest not in self._known:
            raise UnknownName(digest)
        return Blob(digest, "application/json", self._known[digest])


def read(listed: list[tuple[Kind, Any]], blobs: Blobs | None = None, **given: Any) -> RecordedTask | None:
    """Return the task of a trace."""
    events = [Event(seq, 0, 0.0, kind, payload) for seq, (kind, payload) in enumerate(listed)]
    episode = Episode(**{"id": "e", "run_id": "r", "task_digest": "", "task_id": "t", **given})
    return read_task(episode, events, blobs or Blobs())


def digest_of(target: str | None = "2", occurrence: int = 0) -> str:
    """Return the digest of the row's task."""
    return Task("0", input=ROW, target=target, occurrence=occurrence).digest()


@pytest.mark.parametrize("occurrence", [0, 3])
def test_the_row_of_a_rollout_is_its_first_observation_with_the_label_of_the_last(occurrence: int) -> None:
    listed: list[tuple[Kind, Any]] = [
        (Kind.EPISODE_START, {"task": "0"}),
        (Kind.OBSERVATION, {"data": ROW}),
        (Kind.MODEL_CALL, {"messages": [[0, 0]], "text": "3"}),
        (Kind.OBSERVATION, {"data": {"messages": [], "label": "2"}}),
    ]
    found = read(listed, task_digest=digest_of(occurrence=occurrence))
    assert found == RecordedTask(({"role": "user", "content": "1 + 1?"},), "2", {"level": 1})


def test_a_failed_row_has_its_label_in_the_info_of_its_end() -> None:
    found = read([(Kind.OBSERVATION, {"data": ROW})], task_digest=digest_of(), terminal_info={"label": "2"})
    assert found is not None
    assert (found.label, found.altered) == ("2", False)


def test_a_row_without_a_label_has_none() -> None:
    listed: list[tuple[Kind, Any]] = [(Kind.OBSERVATION, {"data": ROW}), (Kind.OBSERVATION, {"data": {"messages": []}})]
    found = read(listed, task_digest=digest_of(None))
    assert found is not None
    assert (found.label, found.altered) == (None, False)


def test_a_row_in_which_something_was_hidden_says_so() -> None:
    found = read(
        [(Kind.OBSERVATION, {"data": {"prompt": [{"role": "user", "content": "…"}]}})], task_digest=digest_of()
    )
    assert found is not None
    assert found.altered


def test_a_large_row_is_read_from_its_blob() -> None:
    kept = {"$blob": "d", "bytes": 9}
    found = read([(Kind.OBSERVATION, {"data": kept})], Blobs(d=msgspec.json.encode(ROW)), task_digest=digest_of(None))
    assert found is not None
    assert (found.metadata, found.altered) == ({"level": 1}, False)


def test_the_task_of_another_benchmark_is_what_its_agent_asked_first() -> None:
    image = {"type": "image", "media_type": "image/png", "data": {"$blob": "i", "bytes": 4}}
    listed: list[tuple[Kind, Any]] = [
        (Kind.OBSERVATION, {"data": "What is 1 + 1?"}),
        (Kind.MESSAGE, {"index": 0, "role": "system", "content": "Be exact."}),
        (Kind.MESSAGE, {"index": 1, "role": "user", "content": [{"type": "text", "text": "1 + 1?"}, image]}),
        (Kind.MODEL_CALL, {"messages": [[0, 0]], "role": "judge"}),
        (Kind.MODEL_CALL, {"messages": [[0, 1]], "text": "3"}),
        (Kind.MESSAGE, {"index": 2, "role": "assistant", "content": "3"}),
        (Kind.MODEL_CALL, {"messages": [[0, 2]], "text": "2"}),
    ]
    found = read(listed, Blobs(i=b"aGk="), seed=7, labels={"topic": "sums"})
    url = {"url": "data:image/png;base64,aGk=", "detail": "auto"}
    content = [{"type": "text", "text": "1 + 1?"}, {"type": "image_url", "image_url": url}]
    prompt = ({"role": "system", "content": "Be exact."}, {"role": "user", "content": content})
    assert found == RecordedTask(prompt, None, {"seed": 7, "topic": "sums"})


def test_an_episode_that_asked_nothing_has_no_task() -> None:
    assert read([(Kind.OBSERVATION, {"data": {"board": [1]}}), (Kind.ERROR, {"message": "gone"})]) is None
