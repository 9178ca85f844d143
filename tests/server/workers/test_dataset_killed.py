"""A server killed in the middle of an upload, and its worker in the middle of a check: nothing is half written."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.workers.test_server_killed import ready

from mesocosm.client import Client
from mesocosm.client import datasets as client_datasets
from mesocosm.client.datasets import describe_file
from mesocosm.client.error import ApiError
from mesocosm.server.schemas.dataset import DatasetInput
from mesocosm.store.datasets import DatasetState
from mesocosm.store.parts import PART_BYTES

pytestmark = pytest.mark.usefixtures("forked")


def test_an_upload_and_its_check_survive_kills_of_server_and_worker(
    platform: Any,
    tmp_path: Path,
    eventually: Callable[..., None],
    kill: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_datasets, "WAITS", ())
    store = platform.service.store
    user = store.users.add("ann")
    workspace = store.workspaces.add("Reef", user.id)
    token = platform.service.accounts.access_token(user)
    file = tmp_path / "hard.csv"
    with file.open("w") as out:
        out.write("user_prompt,ground_truth\n")
        out.writelines(f"{number:0180},{number}\n" for number in range(5 * PART_BYTES // 190))
    size, digest = describe_file(file)
    wanted = DatasetInput(file_name=file.name, size=size, digest=digest)

    first = platform.server()
    client = Client(ready(first)["url"], token)

    def sent(done: int, total: int) -> None:
        if done >= 2 * PART_BYTES:
            kill(first)

    with pytest.raises(ApiError):
        client.datasets.upload("Reef", file, wanted, sent=sent)
    dataset = store.datasets.get(workspace.id, "hard")
    assert dataset.version is None
    assert list(store.datasets.parts(dataset.id, 1)) == [1, 2]
    eventually(lambda: store.workers.list() == ())

    second = platform.server()
    client = Client(ready(second)["url"], token)
    begun = client.datasets.begin("Reef", wanted)
    assert begun.present == [1, 2]
    data = file.read_bytes()
    for part in range(3, begun.part_count + 1):
        client.datasets.put_part("Reef", begun.id, 1, part, data[(part - 1) * PART_BYTES : part * PART_BYTES])
    client.datasets.complete("Reef", begun.id, 1)
    eventually(lambda: store.datasets.version(begun.id, 1).claimed_by is not None)
    (worker,) = store.workers.list()
    second.kill()
    platform.kill_pid(worker.holder.pid)
    second.wait()
    version = store.datasets.version(begun.id, 1)
    assert (version.state, version.rows, version.summary) == (DatasetState.PROCESSING, None, "")
    assert store.datasets.get(workspace.id, "hard").version is None

    client = Client(ready(platform.server())["url"], token)
    done = client.datasets.upload("Reef", file, wanted)
    assert (done.status, done.version, done.rows) == ("uploaded", 1, data.count(b"\n") - 1)
    back = io.BytesIO()
    client.datasets.download("Reef", "hard", back)
    assert back.getvalue() == data
