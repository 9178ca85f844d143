"""Syncs of a workspace with repositories on this disk: what is found, kept, and refused."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.server.builds.conftest import Repositories, Repository

from mesocosm.core.failure import UnknownName
from mesocosm.server.builds.sync import poll, synchronize, write_snapshot
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.repositories import Repository as RepositoryRow
from mesocosm.store.repositories import Sync, SyncCause, SyncState, new_repository

CONFIG = """[experiment]
rollout = "words"
entrypoint = "main.py"
model_path = "openai/gpt-5-mini"
dataset = "hard"
"""
SECRETS = '\n[secrets]\nrequired = ["OPENAI_API_KEY"]\n'
PROJECT = '[project]\nname = "words"\nversion = "1"\ndependencies = ["openai>=1.70"]\nrequires-python = ">=3.11"\n'
FILES: Mapping[str, str | bytes] = {
    "rollouts/words/main.py": "print()\n",
    "rollouts/words/pyproject.toml": PROJECT,
    "configs/eval/hard.toml": CONFIG + SECRETS,
    "data/hard.jsonl": "{}\n",
}


@dataclass
class Host:
    """A server without workers, and a workspace of one person."""

    service: Service
    workspace_id: str

    def connect(self, known: Repository, **given: Any) -> RepositoryRow:
        row = new_repository(self.workspace_id, "local/words", str(known.path), **given)
        assert self.service.store.repositories.connect(row) == row
        return row

    def queue(self, row: RepositoryRow, **given: Any) -> Sync:
        found = self.service.store.syncs.add(Sync(repository_id=row.id, number=0, **given))
        assert found is not None
        return found

    def claim(self) -> Sync:
        found = self.service.store.syncs.claim("worker", 30.0)
        assert found is not None
        return found

    def sync(self, row: RepositoryRow, **given: Any) -> Sync:
        """Queue a sync and do it; return what came of it."""
        number = self.queue(row, **given).number
        asyncio.run(synchronize(self.service, self.claim()))
        found = self.service.store.syncs.get(row.id, number)
        assert found is not None
        assert not list((self.service.settings.data_dir / "syncs").iterdir())
        return found

    def written(self, sync: Sync, place: Path) -> dict[str, bytes]:
        """Write the snapshot of a sync; return the content of its files."""
        snapshots = self.service.store.snapshots
        assert sync.snapshot is not None
        write_snapshot(snapshots, snapshots.get(sync.snapshot), place)
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if not path.is_dir()}


@pytest.fixture
def open_host(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Callable[..., Host]]:
    """Return what opens a server with other settings."""
    store = open_store(put_empty_store(tmp_path / "results"))

    def opened(**given: Any) -> Host:
        settings = read_settings(**{"data_dir": tmp_path / "data", "local_git": True, **given})
        owner = store.users.add("ada")
        workspace = store.workspaces.add("Reefs", owner.id)
        assert workspace is not None
        return Host(Service(settings, store), workspace.id)

    yield opened
    store.close()


@pytest.fixture
def host(open_host: Callable[..., Host]) -> Host:
    """A server that takes repositories of this disk."""
    return open_host()


def test_a_sync_tells_what_a_commit_has_and_keeps_it(host: Host, repository: Repositories, tmp_path: Path) -> None:
    known = repository(FILES)
    row = host.connect(known)
    found = host.sync(row)
    assert (found.state, found.error) == (SyncState.SUCCESS, "")
    assert (found.commit_id, found.branch, found.author) == (known.git("rev-parse", "HEAD"), "main", "Somebody")
    assert found.message == "change"
    assert found.committed_at is not None
    assert abs(found.committed_at - time.time()) < 3600
    (rollout,) = found.rollouts
    assert (rollout.name, rollout.entrypoints) == ("words", ("main.py",))
    assert (rollout.requirements, rollout.requires_python) == (("openai>=1.70",), ">=3.11")
    (config,) = found.configurations
    assert (config.path, config.valid, config.rollout, config.dataset, config.secrets) == (
        *("configs/eval/hard.toml", True, "words", "hard"),
        ("OPENAI_API_KEY",),
    )
    assert found.faults == ()
    assert host.written(found, tmp_path / "out") == {
        name: os.fsencode(content) for name, content in FILES.items() if isinstance(content, str)
    }
    assert host.service.store.repositories.of(host.workspace_id).branch == "main"  # type: ignore[union-attr]


def test_equal_directories_are_kept_once(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    row = host.connect(known)
    first = host.sync(row)
    known.commit({}, "nothing new")
    second = host.sync(row)
    assert first.commit_id != second.commit_id
    assert first.snapshot == second.snapshot
    known.commit({"rollouts/words/main.py": "print(2)\n"})
    third = host.sync(row)
    assert third.snapshot not in (None, first.snapshot)
    newest = host.service.store.syncs.newest(row.id, "main")
    assert newest is not None
    assert newest.number == 3


def test_a_workspace_is_a_folder_of_a_repository(host: Host, repository: Repositories, tmp_path: Path) -> None:
    known = repository({**{f"evals/{name}": content for name, content in FILES.items()}, "other.txt": "x"})
    found = host.sync(host.connect(known, folder="evals"))
    assert [one.name for one in found.rollouts] == ["words"]
    assert sorted(host.written(found, tmp_path / "out")) == sorted(FILES)
    host.service.store.repositories.disconnect(found.repository_id)
    missing = host.sync(host.connect(known, folder="nowhere"))
    assert missing.state is SyncState.FAILED
    assert "has no folder 'nowhere'; rollouts/ is in evals. Connect the repository with the right one" in missing.error


def test_a_root_without_rollouts_names_the_folders_that_have_them(host: Host, repository: Repositories) -> None:
    files = {f"team/{team}/{name}": content for team in ("a", "b") for name, content in FILES.items()}
    found = host.sync(host.connect(repository(files)))
    assert [(one.message, one.fix) for one in found.faults] == [
        (
            "there is no folder rollouts/",
            "connect the repository with the folder team/a or team/b, which has one",
        )
    ]


def test_a_commit_that_is_on_no_branch_is_told(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    found = host.sync(host.connect(known), branch="main", wanted="b" * 40)
    assert found.state is SyncState.FAILED
    assert f"has no commit {'b' * 40}; push it to a branch, or name another one; it has main" in found.error


def test_a_force_push_is_the_newest(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    row = host.connect(known)
    known.commit({"rollouts/words/main.py": "print('old')\n"})
    old = host.sync(row)
    known.git("reset", "--quiet", "--hard", "HEAD~1")
    known.commit({"rollouts/words/main.py": "print('new')\n"})
    new = host.sync(row, branch="main")
    assert new.commit_id == known.git("rev-parse", "HEAD")
    assert new.commit_id != old.commit_id
    # What was synced before stays, for runs that have used it.
    assert host.service.store.syncs.of_commit(row.id, old.commit_id[:8]) == old


def test_a_commit_is_synced_on_request_and_is_not_the_newest_of_its_branch(
    host: Host, repository: Repositories
) -> None:
    known = repository(FILES)
    first = known.git("rev-parse", "HEAD")
    known.commit({"rollouts/words/main.py": "print(2)\n"})
    row = host.connect(known)
    host.sync(row)
    found = host.sync(row, branch="main", wanted=first, cause=SyncCause.SUBMIT)
    assert (found.state, found.commit_id) == (SyncState.SUCCESS, first)
    newest = host.service.store.syncs.newest(row.id, "main")
    assert newest is not None
    assert newest.commit_id == known.git("rev-parse", "HEAD")


def test_a_deleted_branch_and_an_empty_repository_are_told(
    host: Host, repository: Repositories, tmp_path: Path
) -> None:
    known = repository(FILES)
    known.git("branch", "feature")
    row = host.connect(known, branch="feature")
    assert host.sync(row, branch="feature").state is SyncState.SUCCESS
    known.git("branch", "-D", "feature")
    gone = host.sync(row, branch="feature")
    assert gone.state is SyncState.FAILED
    assert "has no branch 'feature'; it has main" in gone.error
    host.service.store.repositories.disconnect(row.id)
    row = host.connect(Repository(tmp_path / "empty"))
    empty = host.sync(row)
    assert empty.state is SyncState.FAILED
    assert "has no commit yet; push one" in empty.error


def test_a_tag_of_the_same_name_is_not_the_branch(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    known.git("tag", "main")
    known.commit({"rollouts/words/main.py": "print(2)\n"})
    found = host.sync(host.connect(known))
    assert found.commit_id == known.git("rev-parse", "refs/heads/main")


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../etc/passwd", "../.."])
def test_links_out_of_the_workspace_are_refused(target: str, host: Host, repository: Repositories) -> None:
    known = repository({f"evals/{name}": content for name, content in FILES.items()})
    (known.path / "evals" / "rollouts" / "out").symlink_to(target)
    known.commit({})
    found = host.sync(host.connect(known, folder="evals"))
    assert found.state is SyncState.FAILED
    assert "rollouts/out is a link to a place outside" in found.error


def test_a_link_in_the_workspace_stays_a_link(host: Host, repository: Repositories, tmp_path: Path) -> None:
    known = repository(FILES)
    (known.path / "rollouts" / "words" / "same.py").symlink_to("main.py")
    (known.path / "run.sh").write_text("true\n")
    (known.path / "run.sh").chmod(0o755)
    known.commit({})
    found = host.sync(host.connect(known))
    host.written(found, tmp_path / "out")
    assert (tmp_path / "out/rollouts/words/same.py").readlink() == Path("main.py")
    assert os.access(tmp_path / "out/run.sh", os.X_OK)
    assert not os.access(tmp_path / "out/data/hard.jsonl", os.X_OK)


def test_what_is_too_large_is_refused(open_host: Callable[..., Host], repository: Repositories) -> None:
    host = open_host(source_mb=1)
    found = host.sync(host.connect(repository({**FILES, "data/huge": os.urandom(3_000_000)})))
    assert found.state is SyncState.FAILED
    assert "too large" in found.error


def test_strange_names_submodules_and_filters_do_no_harm(host: Host, repository: Repositories, tmp_path: Path) -> None:
    strange = "rollouts/two\nlines\x1b[31m/main.py"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    known = repository({**FILES, strange: "x\n", ".gitattributes": "* filter=evil ident\n", "data/big": pointer})
    ran = tmp_path / "ran"
    known.git("config", "filter.evil.smudge", f"touch {ran}; cat")
    known.git("config", "filter.evil.clean", "cat")
    other = repository({"a.txt": "a"}, "other")
    known.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "rollouts/sub")
    known.commit({})
    hook = known.path / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    ran.unlink(missing_ok=True)
    found = host.sync(host.connect(known))
    assert (found.state, found.error) == (SyncState.SUCCESS, "")
    assert not ran.exists()
    written = host.written(found, tmp_path / "out")
    assert strange in written
    assert "rollouts/sub/a.txt" not in written
    told = " ".join(one.message for one in found.faults)
    assert "submodules are not fetched" in told
    assert "kept by Git LFS" in told
    listed = "".join([one.name for one in found.rollouts] + [one.path for one in found.faults])
    assert "\x1b" not in listed
    assert "\n" not in listed


def test_what_an_author_wrote_cannot_draw_on_a_terminal(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    author = "\x1b]0;pwned\x07Eve\u202e\x1b[2J <e@example.org>"
    message = "subject\x1b[31m\n\nbody \u200b\x07text"
    known.git("commit", "--quiet", "--allow-empty", "--author", author, "-m", message)
    found = host.sync(host.connect(known))
    assert found.author.endswith("Eve")
    assert found.author.isprintable()
    assert found.message == "subject\n\nbody text"


def test_faults_have_the_file_and_the_line(host: Host, repository: Repositories) -> None:
    known = repository(
        {
            **FILES,
            "configs/eval/broken.toml": "[experiment]\nrollout = \n",
            "configs/eval/wrong.toml": CONFIG.replace('"words"', '"nowhere"') + "\n[evaluation]\nn = 0\n",
            "configs/eval/dots.toml": "a" + ".a" * 100_000 + " = 1\n",
            "configs/eval/pinned.toml": CONFIG + 'branch = "elsewhere"\n',
            "rollouts/empty/notes.txt": "x",
            "rollouts/odd/main.py": "",
            "rollouts/odd/pyproject.toml": "[project]\ndependencies = 3\n",
        }
    )
    found = host.sync(host.connect(known))
    assert found.state is SyncState.SUCCESS
    faults = {(one.path, one.line): one.message for one in found.faults}
    assert "is not TOML" in faults["configs/eval/broken.toml", 2]
    assert "there is no folder 'nowhere' in rollouts" in faults["configs/eval/wrong.toml", 2]
    assert ("configs/eval/wrong.toml", 8) in faults
    assert "more than 1,000 dots" in faults["configs/eval/dots.toml", 0]
    assert ("rollouts/empty", 0) in faults
    assert "not a list of strings" in faults["rollouts/odd/pyproject.toml", 2]
    assert {one.path: one.valid for one in found.configurations} == {
        **dict.fromkeys((f"configs/eval/{name}.toml" for name in ("broken", "wrong", "dots")), False),
        **dict.fromkeys((f"configs/eval/{name}.toml" for name in ("hard", "pinned")), True),
    }
    assert str(host.service.settings.data_dir) not in " ".join(map(str, found.faults))


def test_polling_finds_new_commits_and_does_not_repeat_what_failed(host: Host, repository: Repositories) -> None:
    known, repositories = repository(FILES), host.service.store.repositories
    row = host.connect(known)

    def polled() -> list[tuple[str, str]]:
        due = repositories.due(-1.0)
        assert due is not None
        asyncio.run(poll(host.service, due))
        while (claimed := host.service.store.syncs.claim("worker", 30.0)) is not None:
            asyncio.run(synchronize(host.service, claimed))
        return [(one.branch, one.state) for one in host.service.store.syncs.list(row.id, limit=9)]

    assert polled() == [("main", "success")]
    assert polled() == [("main", "success")]
    assert repositories.due(3600.0) is None
    known.git("branch", "feature")
    assert polled() == [("main", "success")]
    host.sync(row, branch="feature")
    (known.path / "out").symlink_to("/etc")
    known.commit({})
    known.git("branch", "--force", "feature")
    failed = [("feature", "failed"), ("main", "failed")]
    assert sorted(polled()[:2]) == failed
    assert len(polled()) == 4
    known.git("checkout", "--quiet", "feature")
    known.git("branch", "-D", "main")
    assert len(polled()) == 4
    assert "has no branch 'main' any more" in repositories.get(row.id).error  # type: ignore[union-attr]


def test_of_two_pushes_at_once_none_is_lost(host: Host, repository: Repositories) -> None:
    known = repository(FILES)
    row = host.connect(known, branch="main")
    first = host.queue(row, branch="main", cause=SyncCause.PUSH)
    # Not begun: it will fetch what the second push brought as well.
    assert host.queue(row, branch="main", cause=SyncCause.PUSH) == first
    claimed = host.claim()
    known.commit({"data/new": "x"})
    second = host.queue(row, branch="main", cause=SyncCause.PUSH)
    assert second.number == 2
    # It waits for the first one, so that the newest commit is synced last.
    assert host.service.store.syncs.claim("other", 30.0) is None
    asyncio.run(synchronize(host.service, claimed))
    host.claim()
    taken = host.service.store.syncs.get(row.id, 2)
    assert taken is not None
    asyncio.run(synchronize(host.service, taken))
    # The first one has fetched the newest commit already, so the second one leaves no row.
    assert [one.number for one in host.service.store.syncs.list(row.id, limit=9)] == [1]
    newest = host.service.store.syncs.newest(row.id, "main")
    assert newest is not None
    assert newest.commit_id == known.git("rev-parse", "HEAD")


def test_the_sync_of_a_killed_worker_is_taken_over(host: Host, repository: Repositories) -> None:
    row = host.connect(repository(FILES), branch="main")
    host.queue(row, branch="main")
    syncs = host.service.store.syncs
    dead = syncs.claim("dead", 0.0)
    assert dead is not None
    time.sleep(0.01)
    alive = host.claim()
    assert (alive.number, alive.tries) == (dead.number, 2)
    # The dead one is not dead after all: it changes nothing.
    asyncio.run(synchronize(host.service, dead))
    kept = syncs.get(row.id, 1)
    assert kept is not None
    assert kept.state is SyncState.SYNCING
    assert not syncs.renew(dead, 30.0)
    asyncio.run(synchronize(host.service, alive))
    kept = syncs.get(row.id, 1)
    assert kept is not None
    assert kept.state is SyncState.SUCCESS


def test_a_sync_that_ends_every_worker_fails(host: Host, repository: Repositories) -> None:
    row = host.connect(repository(FILES))
    host.queue(row)
    syncs = host.service.store.syncs
    for _ in range(3):
        assert syncs.claim("dying", 0.0) is not None
        time.sleep(0.01)
    assert syncs.claim("next", 30.0) is None
    (found,) = syncs.list(row.id, limit=9)
    assert found.state is SyncState.FAILED
    assert "3 workers ended" in found.error


def test_a_stopped_worker_returns_its_sync(host: Host, repository: Repositories) -> None:
    row = host.connect(repository(FILES))
    host.queue(row)

    async def stopped() -> None:
        task = asyncio.ensure_future(synchronize(host.service, host.claim()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    again = host.claim()
    assert again.tries == 1
    asyncio.run(synchronize(host.service, again))
    found = host.service.store.syncs.get(row.id, 1)
    assert found is not None
    assert found.state is SyncState.SUCCESS


def test_a_snapshot_goes_with_the_last_sync_that_needs_it(host: Host, repository: Repositories) -> None:
    found = host.sync(host.connect(repository(FILES)))
    snapshots, blobs = host.service.store.snapshots, host.service.store.blobs
    assert found.snapshot is not None
    files = snapshots.get(found.snapshot).files
    assert snapshots.drop_unused(older_than_s=-1.0) == 0
    assert host.service.store.workspaces.delete(host.workspace_id)
    assert snapshots.drop_unused(older_than_s=-1.0) == 1
    for file in files:
        with pytest.raises(UnknownName):
            blobs.get(file.digest)


def test_a_host_that_the_operator_does_not_allow_any_more_is_not_asked(
    open_host: Callable[..., Host], repository: Repositories
) -> None:
    host = open_host(local_git=False)
    found = host.sync(host.connect(repository(FILES)))
    assert found.state is SyncState.FAILED
    assert "not accepted by this server" in found.error
