"""Who may reach a domain and a submitted environment."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.auth.granted.domains import domain_id, environment_id, planted
from tests.server.auth.granted.world import CALLERS, CHANGES, NAMES, READS, World, opened, secret

from mesocosm.server.permissions.grant import Grant
from mesocosm.server.refusal import Refusal


@pytest.fixture
def world(tmp_path: Path, records: Any) -> Iterator[World]:
    """A server with three environments of one owner."""
    with opened(tmp_path, records, lambda *given: asyncio.run(records.write(*given))) as found:
        yield planted(found)


def _status(grant: Grant, what: str, reference: str) -> int:
    try:
        getattr(grant, what)(reference)
    except Refusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize("role", CALLERS)
def test_an_environment_exists_for_its_owners_alone(world: World, role: str) -> None:
    grant = world.grant(role)
    for name in NAMES:
        assert _status(grant, "environment", environment_id(name)) == (200 if name in CHANGES[role] else 404)
    assert _status(grant, "environment", "none") == 404


@pytest.mark.parametrize("role", CALLERS)
def test_a_draft_exists_for_its_owners_alone_and_a_published_domain_for_everybody(world: World, role: str) -> None:
    grant = world.grant(role)
    for name in NAMES:
        expected = 200 if name in CHANGES[role] else 403 if name in READS[role] else 404
        assert _status(grant, "own_domain", domain_id(world, name)) == expected
        assert _status(grant, "domain", domain_id(world, name)) == (404 if expected == 404 else 200)


def test_source_logs_and_manifest_of_an_environment_are_for_its_owner(world: World) -> None:
    environment = world.grant("owner").environment(environment_id("public"))
    told = f"{environment.document()} {environment.logs()} {environment.version(1)}"
    assert told.count(secret("public")) >= 3
