"""The record of one episode."""

from collections.abc import Sequence

import msgspec
import pytest

from mesocosm.core.entry import Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.message import Image, Message, Text
from mesocosm.core.ports import Planned
from mesocosm.core.redact import Redactor
from mesocosm.core.task import Task
from mesocosm.engine.episode import begun
from mesocosm.engine.recorder import BLOB_BYTES, CHUNK_BYTES, CHUNK_EVENTS, Recorder


class Kept:
    """A journal that keeps entries in a list."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def write(self, entry: Entry) -> None:
        self.entries.append(entry)

    async def room(self) -> None:
        return

    async def drain(self) -> None:
        return

    async def close(self) -> None:
        return

    @property
    def events(self) -> list[Event]:
        lines = [line for entry in self.entries for chunk in entry.chunks for line in chunk.raw.splitlines()]
        return [msgspec.json.decode(line, type=Event) for line in lines]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def recorder_of(kept: Kept, secrets: Sequence[str] = ()) -> Recorder:
    return Recorder(Episode("e", "r", "d", "seed-0"), kept, Redactor(secrets))


def test_labels_are_redacted_and_the_episode_that_is_played_keeps_its_own(kept: Kept) -> None:
    labels = {"source": "see hunter2-hunter2", "level": "5"}
    episode = Episode("e", "r", "d", "seed-0", labels=labels)
    Recorder(episode, kept, Redactor(["hunter2-hunter2"])).finish()
    assert kept.entries[-1].episode.labels == {"source": "see [redacted]", "level": "5"}
    assert episode.labels == labels


def test_what_the_metadata_of_a_task_says_in_a_few_words_is_a_label() -> None:
    metadata = {"category": "simple", "item": True, "empty": "", "long": "x" * 81, "record": {}}

    for labels, expected in (({}, {"category": "simple"}), ({"category": "own"}, {"category": "own"})):
        task = Task("a", metadata=metadata, labels=labels)
        assert begun("r", Planned(task, task.digest(), 0, 0)).labels == expected


def test_a_short_episode_is_one_entry(kept: Kept) -> None:
    recorder = recorder_of(kept)
    for step in range(5):
        recorder.record(Kind.ACTION, {"action": step}, step)
    assert kept.entries == []
    recorder.finish()
    assert len(kept.entries) == 1
    assert [event.seq for event in kept.events] == [0, 1, 2, 3, 4]
    assert kept.entries[0].episode.events == 5


def test_an_episode_that_is_over_counts_as_running_until_its_last_entry(kept: Kept) -> None:
    recorder = recorder_of(kept)
    recorder.episode.status = EpisodeStatus.COMPLETED
    recorder.record(Kind.ACTION, {"action": 1}, 1)
    recorder.flush()
    recorder.finish()
    assert [entry.episode.status for entry in kept.entries] == [EpisodeStatus.RUNNING, EpisodeStatus.COMPLETED]


def test_chunks_are_bounded_in_events_and_in_bytes(kept: Kept) -> None:
    recorder = recorder_of(kept)
    for step in range(CHUNK_EVENTS * 3):
        recorder.record(Kind.ACTION, {"action": "x"}, step)
    for step in range(4):
        recorder.record(Kind.ACTION, {"action": "y" * CHUNK_BYTES}, 1000 + step)
    recorder.finish()
    chunks = [chunk for entry in kept.entries for chunk in entry.chunks]
    assert all(chunk.last - chunk.first < CHUNK_EVENTS for chunk in chunks)
    assert len([chunk for chunk in chunks if len(chunk.raw) > CHUNK_BYTES]) == 4
    assert [chunk.seq for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.first for chunk in chunks[1:]] == [chunk.last + 1 for chunk in chunks[:-1]]


def test_a_message_is_stored_once_and_named_by_ranges(kept: Kept) -> None:
    recorder = recorder_of(kept)
    system, user = Message("system", "rules"), Message("user", "[Step 1] go")
    assert recorder.messages([system, user], 1) == [[0, 1]]
    answer, more = Message("assistant", "ok"), Message("user", "[Step 2] on")
    assert recorder.messages([system, user, answer, more], 2) == [[0, 3]]
    assert recorder.messages([system, more], 3) == [[0, 0], [3, 3]]
    recorder.finish()
    assert sum(event.kind is Kind.MESSAGE for event in kept.events) == 4


def test_an_equal_message_in_another_object_is_not_stored_again(kept: Kept) -> None:
    recorder = recorder_of(kept)
    assert recorder.messages([Message("user", "same " * 40)], 1) == recorder.messages(
        [Message("user", "same " * 40)], 2
    )


def test_a_conversation_costs_in_proportion_to_its_length(kept: Kept) -> None:
    def size(turns: int) -> int:
        place = Kept()
        recorder = recorder_of(place)
        said: list[Message] = [Message("system", "rules of the game")]
        for turn in range(turns):
            said.append(Message("user", f"[Step {turn}] observation {turn * 7919 % 1000}"))
            recorder.record(Kind.MODEL_CALL, {"messages": recorder.messages(said, turn)}, turn)
            said.append(Message("assistant", f"action {turn}"))
        recorder.finish()
        return sum(len(chunk.raw) for entry in place.entries for chunk in entry.chunks)

    assert size(400) <= 2.2 * size(200)


def test_large_content_is_stored_once_by_digest(kept: Kept) -> None:
    recorder = recorder_of(kept)
    picture = "iVBOR" * BLOB_BYTES
    first = recorder.reference(picture, "image/png")
    recorder.messages([Message("user", (Text("[Step 1]"), Image(data=picture)))], 1)
    recorder.finish()
    blobs = [blob for entry in kept.entries for blob in entry.blobs]
    assert [blob.digest for blob in blobs] == [first["$blob"]]
    assert blobs[0].data == picture.encode()
    assert len(kept.entries[0].chunks[0].raw) < 1000


def test_secrets_are_replaced_in_events_blobs_and_the_row(kept: Kept) -> None:
    secret = "canary-canary-canary"
    recorder = recorder_of(kept, [secret])
    recorder.record(Kind.OBSERVATION, {"data": recorder.reference(secret * 2000, "text/plain")}, 0)
    recorder.record(Kind.LOG, {"message": f"key {secret}"}, 0)
    recorder.episode.terminal_info = {"leak": secret}
    recorder.finish()
    assert secret.encode() not in msgspec.json.encode([kept.entries[0].chunks, kept.entries[0].episode])
    assert secret.encode() not in b"".join(blob.data for entry in kept.entries for blob in entry.blobs)


def test_the_row_written_midway_is_not_changed_by_what_follows(kept: Kept) -> None:
    recorder = recorder_of(kept)
    recorder.episode.status = EpisodeStatus.RUNNING
    recorder.record(Kind.ACTION, {}, 1)
    recorder.flush()
    recorder.episode.status = EpisodeStatus.COMPLETED
    assert kept.entries[0].episode.status is EpisodeStatus.RUNNING
