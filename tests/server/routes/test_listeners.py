"""Live streams of a platform: what outsiders hear, how many there may be, and that they end with their listener."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
from starlette.requests import Request
from tests.server.routes.conftest import Hosted, OpenHosted, Person
from tests.server.routes.test_record import World

from mesocosm.server import service as limits
from mesocosm.server.auth.principal import NOBODY, Principal
from mesocosm.server.auth.redaction import MARK
from mesocosm.server.permissions.grant import grant
from mesocosm.server.permissions.visible_runs import all_runs
from mesocosm.server.routes import live as live_routes
from mesocosm.server.runs.live import Live, Pace
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.schemas.run import RunChange
from mesocosm.server.service import Audience


@pytest.fixture
def world(recorded: Path, tmp_path: Path, open_hosted: OpenHosted) -> World:
    """Three runs and people around them."""
    shutil.copytree(recorded, tmp_path / "results")
    return World(open_hosted())


def request_of(hosted: Hosted, person: Person) -> Request:
    """Return a request of somebody."""
    headers = [(b"authorization", f"Bearer {person.token}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "client": ("127.0.0.1", 1)}
    return Request({**scope, "app": hosted.app, "headers": headers, "state": {}})


def test_the_words_of_a_failure_are_told_to_its_owner_without_paths_and_not_to_outsiders(world: World) -> None:
    service = world.hosted.service
    runs = all_runs(service)
    said = f'File "{service.settings.data_dir.absolute()}/content/main.py": words'
    service.store.runs.save(msgspec.structs.replace(service.store.runs.get(world.public), error=said))
    (row,) = summaries(runs, [runs.get(world.public)])
    assert row.error == said
    change = RunChange(runs=[row], deleted=[])
    ann = service.recognise(request_of(world.hosted, world.ann))

    def heard(who: Principal) -> str:
        told = grant(service, who).runs().seen(change)
        assert told is not None
        return told.runs[0].error

    assert heard(ann) == 'File "…/content/main.py": words'
    assert heard(NOBODY) == MARK


async def test_a_stream_ends_once_its_listener_is_disabled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_routes, "RECOGNISED_S", -1.0)
    service, request = world.hosted.service, request_of(world.hosted, world.ann)
    live = Live(lambda: service, Pace(look=0.01, heartbeat=0.01))
    stream = live_routes._stream(request, live, grant(service, service.recognise(request)), None).body_iterator
    try:
        async with asyncio.timeout(120):
            pieces = aiter(stream)
            await anext(pieces)
            assert world.ann.user_id is not None
            service.store.users.set_disabled(world.ann.user_id, disabled=True)
            async for _ in pieces:
                pass
        assert not service.audience.full("user:1", known=True)
    finally:
        live.close()


def test_so_many_streams_are_taken_of_one_address(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_OF_ADDRESS", 0)
    answer = hosted.anonymous.get("/api/live")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"]


def test_a_seat_is_free_again_when_its_stream_is_over() -> None:
    audience = Audience()
    with audience.slot("ann"):
        following_of_ann = [audience.slot("ann") for _ in range(limits.MOST_OF_ONE - 1)]
        for seat in following_of_ann:
            seat.__enter__()
        assert audience.full("ann", known=True)
        assert not audience.full("bob", known=True)
    assert not audience.full("ann", known=True)
