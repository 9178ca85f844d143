"""Large content outside of the database, in an object store."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from obstore.store import S3Store
from sqlalchemy import Connection

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.failure import InfrastructureError, UnknownName, UsageError
from mesocosm.core.ids import digest_bytes, new_id
from mesocosm.store import Store, deletion, open_store
from mesocosm.store.objects import Objects, open_objects
from mesocosm.store.traces import compress
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LARGE = random.Random(1).randbytes(20_000)
LARGE_BLOB = Blob(digest_bytes(LARGE), "image/png", LARGE)
SMALL_BLOB = Blob(digest_bytes(b"small"), "text/plain", b"small")

OpenStore = Callable[[], Store]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "objects").as_uri()


@pytest.fixture
def store(tmp_path: Path, url: str) -> Store:
    return open_store(tmp_path / "results", blob_url=url)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "objects").rglob("*") if path.is_file())


async def written(store: Store, samples: "Samples") -> str:
    run = samples.held(store)
    await samples.write(store, run.id, [Entry(samples.episode(run.id), (), [LARGE_BLOB, SMALL_BLOB])])
    store.leases.release(run.id, store.leases.owner())
    return str(run.id)


async def test_large_content_lies_outside_and_small_content_does_not(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    run_id = await written(store, samples)
    assert files(tmp_path) == [LARGE_BLOB.digest]
    assert {blob.digest: blob for blob in store.blobs.of_run(run_id)} == {
        blob.digest: blob for blob in (LARGE_BLOB, SMALL_BLOB)
    }


async def test_what_no_run_needs_is_removed_in_time(store: Store, samples: "Samples", tmp_path: Path) -> None:
    run_id = await written(store, samples)
    assert store.blobs.drop_outside(0.0) == 0
    store.runs.delete(run_id)
    assert store.blobs.drop_outside() == 0
    assert store.blobs.drop_outside(0.0) == 1
    assert files(tmp_path) == []


async def test_without_its_object_store_a_blob_says_where_it_is(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    await written(store, samples)
    with pytest.raises(InfrastructureError, match="--blob-url"):
        open_store(tmp_path / "results").blobs.get(LARGE_BLOB.digest)


async def test_a_blob_that_is_gone_from_its_object_store_is_an_unknown_name(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    await written(store, samples)
    next((tmp_path / "objects").rglob(LARGE_BLOB.digest)).unlink()
    with pytest.raises(UnknownName, match=LARGE_BLOB.digest):
        store.blobs.get(LARGE_BLOB.digest)


async def test_content_from_before_there_was_an_object_store_is_still_read(
    samples: "Samples", tmp_path: Path, url: str
) -> None:
    await written(open_store(tmp_path / "results"), samples)
    assert open_store(tmp_path / "results", blob_url=url).blobs.get(LARGE_BLOB.digest) == LARGE_BLOB


class Bucket(LoopbackServer):
    """An S3 bucket that answers writes when `together` of them wait, and refuses keys with `refused` in them."""

    def __init__(self, together: int, refused: str = "nothing") -> None:
        super().__init__()
        self._together = together
        self._forbidden = refused.encode()
        self._waiting: list[tuple[LoopbackConnection, bytes]] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        status = 403 if self._forbidden in request.head else 200
        self._waiting.append((connection, response(status, b"", 'etag: "1"\r\n')))
        if len(self._waiting) == self._together:
            for waiting, answer in self._waiting:
                waiting.send(answer)
            self._waiting = []

    def objects(self) -> Objects:
        store = S3Store("b", endpoint=self.url, access_key_id="a", secret_access_key="b", client_options=PLAIN)
        return Objects(store, "s3://b")


PLAIN: Any = {"allow_http": True, "timeout": "20s"}


def test_the_contents_of_a_batch_are_written_several_at_a_time() -> None:
    with Bucket(together=8) as bucket:
        bucket.objects().put_all({f"ab{number}": b"content" for number in range(16)})


def test_content_of_a_batch_that_the_object_store_refuses_fails_the_batch() -> None:
    with Bucket(together=1, refused="ab3") as bucket, pytest.raises(InfrastructureError, match="cannot be written"):
        bucket.objects().put_all({f"ab{number}": b"content" for number in range(6)})


def test_contents_are_deleted_together_even_if_one_is_gone(tmp_path: Path, url: str) -> None:
    objects = open_objects(url)
    objects.put_all({"ab1": b"one", "ab2": b"two", "ab3": b"three"})
    objects.delete(["ab1", "ab0", "ab3"])
    assert files(tmp_path) == ["ab2"]


def test_a_file_of_a_run_comes_back(store: Store, samples: "Samples", tmp_path: Path) -> None:
    run = samples.held(store)
    artifact = store.artifacts.add(run.id, "shot.png", LARGE, content_type="image/png")
    assert files(tmp_path) == [artifact.digest]
    assert store.blobs.get(artifact.digest).data == LARGE


def test_an_object_store_in_memory_is_the_same_for_all_of_a_process() -> None:
    name = f"memory:///{new_id()}"
    open_objects(name).put("ab12", b"content")
    assert open_objects(name).get("ab12") == b"content"


def test_the_variable_names_the_object_store(
    tmp_path: Path, url: str, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_BLOB_URL", url)
    store = open_store(tmp_path / "results")
    store.artifacts.add(samples.held(store).id, "shot.png", LARGE, content_type="image/png")
    assert len(files(tmp_path)) == 1


def test_another_url_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError, match="ftp://host/place") as caught:
        open_objects("ftp://somebody:secret@host/place")
    assert "secret" not in str(caught.value)


def _lost(place: Path) -> None:
    place.unlink()


def _cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-50])


def _another(place: Path) -> None:
    place.write_bytes(compress([b"something else"])[0])


@pytest.mark.parametrize(
    ("harm", "said"), [(_lost, "not in the object store"), (_cut, "damaged"), (_another, "damaged")]
)
async def test_verifying_reads_what_lies_outside(
    store: Store, samples: "Samples", tmp_path: Path, harm: Callable[[Path], None], said: str
) -> None:
    run_id = await written(store, samples)
    assert store.verification.check_run(run_id).damages == ()
    harm(next((tmp_path / "objects").rglob(LARGE_BLOB.digest)))
    (damage,) = store.verification.check_run(run_id).damages
    assert said in damage.what
    assert LARGE_BLOB.digest in damage.what


async def test_what_lies_in_an_object_store_that_nobody_named_is_not_called_verified(
    store: Store, samples: "Samples", tmp_path: Path
) -> None:
    run_id = await written(store, samples)
    with pytest.raises(InfrastructureError, match=r"is kept outside of .*; name its object store with --blob-url"):
        open_store(tmp_path / "results").verification.check_run(run_id)


async def test_a_deletion_that_is_interrupted_leaves_no_damage_and_is_done_again(
    store: Store, samples: "Samples", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = samples.held(store)
    entries = [Entry(samples.episode(run.id, number), (), [LARGE_BLOB]) for number in range(3)]
    await samples.write(store, run.id, entries)
    store.leases.release(run.id, store.leases.owner())
    slices = iter([deletion._delete_slice])

    def interrupted(connection: Connection, run_id: str) -> int:
        return next(slices)(connection, run_id)

    with monkeypatch.context() as patch:
        patch.setattr(deletion, "_SLICE", 1)
        patch.setattr(deletion, "_delete_slice", interrupted)
        with pytest.raises(StopIteration):
            store.runs.delete(run.id)
    left = store.runs.get(run.id)
    assert (left.counts.done, left.holder) == (0, None)
    assert "delete it again" in left.error
    assert len(store.episodes.search(run.id).items) == 2
    assert store.verification.check_run(run.id).damages == ()
    store.runs.delete(run.id)
    assert store.runs.ids() == []
    assert store.blobs.drop_outside(0.0) == 1
    assert files(tmp_path) == []
