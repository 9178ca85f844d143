"""Builds from submission to domain: what authors see of each, and what workers find on their machines."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.server.builds.conftest import Builder, OpenBuilder, Repositories, adapter, manifest, vow

from mesocosm.cli.main import call
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.server.builds.build import build, ensure_built
from mesocosm.server.builds.directory import build_directory
from mesocosm.store.environments import BuildState, Environments, VersionRow
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.tenancy import environment_versions


def test_what_init_writes_is_built_and_published(builder: Builder, repository: Repositories, tmp_path: Path) -> None:
    known = repository({"README.md": "words"})
    assert call(["init", "--dir", str(known.path)]) == 0
    commit = known.commit({})
    version = builder.build(str(known.path), ref="main")
    assert (version.state, version.error) == (BuildState.READY, "")
    assert version.commit_id == commit
    assert version.manifest_path == "benchanything.json"
    assert json.loads(version.manifest)["id"] == known.path.name.lower()
    row = builder.service.store.environments.get(version.environment_id)
    assert row is not None
    assert (row.status, row.name, row.ready_version) == ("ready", known.path.name.capitalize(), 1)
    domain = builder.service.store.domains.get(row.domain_id or "")
    assert domain is not None
    assert (domain.environment_id, domain.status) == (row.id, "published")
    for stage in ("cloning", "checking", "installing", "testing", "ready"):
        assert f"== {stage}" in version.log


@pytest.mark.parametrize(
    ("files", "folder", "words", "stage"),
    [
        (None, "games", "no folder 'games'", "checking"),
        ({"README.md": "words"}, "", "no manifest was found", "checking"),
        ({"benchanything.json": "{"}, "", "line 1, column 2", "checking"),
        (
            {"benchanything.json": manifest(), "x.py": ""},
            "",
            "adapter.py does not exist",
            "checking",
        ),
        (
            {"benchanything.json": manifest(binding_vow=vow(version="1")), "adapter.py": adapter()},
            "",
            "binding_vow.version",
            "checking",
        ),
        (
            {"benchanything.json": manifest(), "adapter.py": adapter(), "requirements.txt": "a b"},
            "",
            "requirements.txt, line 1",
            "installing",
        ),
        (
            {"benchanything.json": manifest(), "adapter.py": "raise SystemExit('no luck')"},
            "",
            "no luck",
            "testing",
        ),
    ],
)
def test_what_fails_is_told_to_the_author(
    files: dict[str, str | bytes] | None,
    folder: str,
    words: str,
    stage: str,
    builder: Builder,
    repository: Repositories,
) -> None:
    version = builder.build(str(repository(files).path), folder=folder)
    assert version.state is BuildState.FAILED
    assert words in version.error
    assert words in version.log
    assert version.log.rindex("\n== failed") > version.log.index(f"== {stage}")
    row = builder.service.store.environments.get(version.environment_id)
    assert row is not None
    assert (row.status, row.error, row.domain_id, row.ready_version) == ("failed", version.error, None, None)
    assert str(builder.service.settings.data_dir) not in version.log
    assert not build_directory(builder.service.settings, row.id, 1).folder.exists()


def test_a_missing_repository_is_told_to_the_author(builder: Builder, tmp_path: Path) -> None:
    version = builder.build(str(tmp_path / "nowhere"))
    assert "there is no repository at" in version.error


def test_a_resubmission_serves_the_same_domain_and_old_versions_stay(
    builder: Builder, repository: Repositories
) -> None:
    known = repository()
    first = builder.build(str(known.path))
    known.commit({"benchanything.json": manifest(name="Words 2", binding_vow=vow(version="1.1.0"))})
    second = builder.build(str(known.path))
    row = builder.service.store.environments.get(first.environment_id)
    assert row is not None
    assert (second.environment_id, second.version, row.ready_version, row.name) == (row.id, 2, 2, "Words 2")
    assert first.commit_id != second.commit_id
    assert first.digest != second.digest
    old = asyncio.run(ensure_built(builder.service, row.id, 1))
    assert json.loads(old.manifest.read_text())["name"] == "Words"
    assert row.domain_history == ()


def test_versions_that_nobody_needs_go_from_the_disk(
    builder: Builder, repository: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = repository()
    first = builder.build(str(known.path))
    wanted = RunRequest(
        run_id="r", domain_id="d", actor="user:1", vow_version="1", model="m", created_at=1.0, environment_version=2
    )
    monkeypatch.setattr(type(builder.service.store.run_requests), "list", lambda *_, **__: (wanted,))
    for _ in range(3):
        builder.build(str(known.path))
    there = [
        number
        for number in range(1, 5)
        if build_directory(builder.service.settings, first.environment_id, number).completed()
    ]
    assert there == [2, 4]


def test_a_failed_resubmission_leaves_the_working_version(builder: Builder, repository: Repositories) -> None:
    known = repository()
    first = builder.build(str(known.path))
    known.commit({"benchanything.json": "{"})
    assert builder.build(str(known.path)).state is BuildState.FAILED
    row = builder.service.store.environments.get(first.environment_id)
    assert row is not None
    assert (row.status, row.version, row.ready_version) == ("failed", 2, 1)
    assert row.domain_id is not None


def test_a_version_that_is_not_here_is_built_again_from_its_commit(builder: Builder, repository: Repositories) -> None:
    known = repository()
    version = builder.build(str(known.path))
    known.commit({"adapter.py": "something else"})
    directory = build_directory(builder.service.settings, version.environment_id, 1)
    shutil.rmtree(directory.folder)
    found = asyncio.run(ensure_built(builder.service, version.environment_id, 1))
    assert found.digest == version.digest
    assert (found.source / "adapter.py").read_text() == adapter()
    assert found.python.exists()
    assert asyncio.run(ensure_built(builder.service, version.environment_id, 1)) == found


def test_a_commit_that_is_gone_is_told(builder: Builder, repository: Repositories) -> None:
    known = repository()
    version = builder.build(str(known.path))
    shutil.rmtree(build_directory(builder.service.settings, version.environment_id, 1).folder)
    shutil.rmtree(known.path)
    with pytest.raises(InfrastructureError, match="cannot be built again: there is no repository"):
        asyncio.run(ensure_built(builder.service, version.environment_id, 1))


def test_files_that_are_not_those_of_the_version_are_not_run(builder: Builder, repository: Repositories) -> None:
    version = builder.build(str(repository().path))
    other = update(environment_versions).values(digest="0" * 32)
    builder.service.store.database.write(lambda connection: connection.execute(other))
    shutil.rmtree(build_directory(builder.service.settings, version.environment_id, 1).folder)
    with pytest.raises(InfrastructureError, match="holds other files"):
        asyncio.run(ensure_built(builder.service, version.environment_id, 1))


@pytest.mark.parametrize("number", [1, 7])
def test_only_what_was_ready_can_be_had(number: int, builder: Builder, repository: Repositories) -> None:
    version = builder.build(str(repository({"README.md": "words"}).path))
    with pytest.raises(UnknownName, match="was never built"):
        asyncio.run(ensure_built(builder.service, version.environment_id, number))


def test_changed_rules_under_a_played_version_are_told(
    builder: Builder, repository: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = repository()
    builder.build(str(known.path))
    monkeypatch.setattr(type(builder.service.store.domains), "played", lambda *_: True)
    known.commit({"benchanything.json": manifest(binding_vow=vow(episode={"max_steps": 3}))})
    version = builder.build(str(known.path))
    assert version.state is BuildState.FAILED
    assert "binding_vow.version: runs were made by version 1.0.0" in version.error


def before_each_renewal(monkeypatch: pytest.MonkeyPatch, builder: Builder, work: Callable[[], None]) -> None:
    """Do `work` whenever a build is about to renew its lease."""
    environments = type(builder.service.store.environments)
    renew = environments.renew_build

    def renewed(self: Environments, version: VersionRow, lease_s: float) -> bool:
        work()
        return renew(self, version, lease_s)

    monkeypatch.setattr(environments, "renew_build", renewed)


async def test_a_deleted_environment_is_built_no_further(
    builder: Builder, repository: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = builder.submit(str(repository().path))
    version = builder.claim()
    deleted: list[bool] = []

    def delete() -> None:
        if not deleted:
            deleted.append(True)
            builder.service.store.environments.delete(row.id, 1.0)

    before_each_renewal(monkeypatch, builder, delete)
    await build(builder.service, version)
    found = builder.service.store.environments.version(row.id, 1)
    assert found is not None
    assert "was deleted" in found.error
    assert builder.service.store.domains.of_environment(row.id) is None


async def test_a_worker_that_ends_gives_its_build_back(
    builder: Builder, repository: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = builder.submit(str(repository({**_sleepy(), "benchanything.json": manifest()}).path))
    version, testing = builder.claim(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def look() -> None:
        found = builder.service.store.environments.version(row.id, 1)
        if found is not None and found.state is BuildState.TESTING:
            loop.call_soon_threadsafe(testing.set)

    before_each_renewal(monkeypatch, builder, look)
    building = asyncio.ensure_future(build(builder.service, version))
    await testing.wait()
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    found = builder.service.store.environments.version(row.id, 1)
    assert found is not None
    assert (found.state, found.claimed_by, found.tries) == (BuildState.QUEUED, None, 0)


async def test_a_lease_that_cannot_be_renewed_ends_the_build(
    builder: Builder, repository: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder.submit(str(repository(_sleepy() | {"benchanything.json": manifest()}).path))

    def fail() -> None:
        raise InfrastructureError("the store is gone")

    version = builder.claim()
    before_each_renewal(monkeypatch, builder, fail)
    with pytest.raises(InfrastructureError, match="the store is gone"):
        await build(builder.service, version)


def test_a_machine_that_confines_nothing_is_no_fault_of_the_author(
    open_builder: OpenBuilder, repository: Repositories
) -> None:
    version = open_builder(sandbox="plain").build(str(repository().path))
    assert version.state is BuildState.FAILED
    assert "The environment is not at fault" in version.error


def test_an_adapter_is_built_plainly_where_the_operator_says_so(
    open_builder: OpenBuilder, repository: Repositories
) -> None:
    version = open_builder(sandbox="plain", unsafe_sandbox=True).build(str(repository().path))
    assert (version.state, version.error) == (BuildState.READY, "")


def _sleepy() -> dict[str, str | bytes]:
    return {"adapter.py": "import time\ntime.sleep(60)"}
