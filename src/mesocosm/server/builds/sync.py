"""Sync a workspace with its repository: fetch a commit, check what is in it, and keep a snapshot of it."""

import asyncio
import hashlib
import os
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from mesocosm.core.failure import MesocosmError
from mesocosm.core.ids import DIGEST_HEX, digest_bytes, new_id
from mesocosm.core.snapshot import Snapshot, SnapshotFile
from mesocosm.sandboxes.disk import remove
from mesocosm.server.builds.checkout import BRANCHES, FetchedCommit, RemoteBranches, fetch_commit, list_branches, walk
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.git_credentials import read_credentials
from mesocosm.server.builds.inspection import Inspection, inspect_workspace, workspace_folders
from mesocosm.server.builds.log import BuildLog, notes_of
from mesocosm.server.builds.repository_address import RepositorySource, read_source
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.store.repositories import Repository, Sync, SyncCause, SyncFault, SyncState
from mesocosm.store.snapshots import Snapshots

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LONGEST_AUTHOR, _LONGEST_MESSAGE = 200, 2_000


async def synchronize(service: Service, sync: Sync) -> None:
    """Do a claimed sync and store its outcome.

    Cancelling returns it to the queue. Raises InfrastructureError if the store cannot be used.
    """
    directory = BuildDirectory(syncs_folder(service.settings) / f"{sync.repository_id}-{sync.number}-{sync.tries}")
    log = BuildLog(directory.folder)
    try:
        await asyncio.to_thread(directory.clear)
        done = await _synced(service, sync, directory, log)
    except asyncio.CancelledError:
        await asyncio.to_thread(service.store.syncs.release, sync)
        raise
    except (BuildError, Refusal) as error:
        done = _failed(sync, log.clean(str(error)))
    except (MesocosmError, OSError) as error:
        done = _failed(
            sync,
            log.clean(f"this server could not sync it: {error}. Try again, and tell an administrator if this persists"),
        )
    finally:
        await asyncio.to_thread(remove, directory.folder)
    if done is None:
        await asyncio.to_thread(service.store.syncs.drop, sync)
    else:
        await asyncio.to_thread(service.store.syncs.save, done)


async def poll(service: Service, repository: Repository) -> None:
    """Ask a repository for new commits of the branches that are followed, and queue their syncs.

    Raises InfrastructureError if the store cannot be used.
    """
    store, settings = service.store, service.settings
    directory = BuildDirectory(syncs_folder(settings) / f"{repository.id}-poll-{new_id()}")
    log = BuildLog(directory.folder)
    try:
        await asyncio.to_thread(directory.clear)
        source = read_repository(settings, repository.url, "", "")
        credentials = await asyncio.to_thread(read_credentials, service, repository)
        log.hide(credentials.hidden())
        found = await list_branches(settings, source, directory.folder, log, credentials)
        error = await asyncio.to_thread(_queue_new, service, repository, found)
    except (MesocosmError, OSError) as failure:
        error = log.clean(str(failure))
    finally:
        await asyncio.to_thread(remove, directory.folder)
    await asyncio.to_thread(store.repositories.note_checked, repository.id, error)


def _queue_new(service: Service, repository: Repository, found: RemoteBranches) -> str:
    """Queue syncs of branches with another newest commit than the last sync tried; return what is wrong, or nothing."""
    syncs = service.store.syncs
    followed = repository.branch or found.default
    if not repository.branch and found.default:
        service.store.repositories.follow(repository.id, found.default)
    for branch in dict.fromkeys((followed, *syncs.branches(repository.id))):
        commit = found.commits.get(branch)
        last = syncs.last_tried(repository.id, branch)
        if commit is not None and (last is None or last.commit_id != commit):
            wanted = Sync(repository_id=repository.id, number=0, branch=branch, cause=SyncCause.POLL, commit_id=commit)
            syncs.add(wanted)
    if not found.commits:
        return "it has no commit yet; push one"
    return "" if followed in found.commits else f"it has no branch {followed!r} any more; connect it with another one"


def sweep_folders(settings: Settings, before: float) -> int:
    """Remove what killed workers left behind before a time; return how many folders."""
    place, removed = syncs_folder(settings), 0
    if place.is_dir():
        for folder in list(place.iterdir()):
            with suppress(OSError):
                removed += folder.stat().st_mtime < before and remove(folder)
    return removed


def write_snapshot(
    snapshots: Snapshots, snapshot: Snapshot, root: Path, has_content: Callable[[SnapshotFile], bool] = lambda _: True
) -> None:
    """Write the files of a snapshot into an empty folder; those without `has_content` are empty there.

    Raises UnknownName, InfrastructureError, OSError.
    """
    for file in snapshot.files:
        content = snapshots.content(file) if has_content(file) else b""
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            path.symlink_to(content.decode())
        else:
            path.write_bytes(content)
            path.chmod(0o755 if file.executable else 0o644)


def read_repository(settings: Settings, url: str, folder: str, branch: str) -> RepositorySource:
    """Return the source of a repository, whether it was connected before or not. Raises Refusal 422."""
    return read_source(url, settings, ref=branch or None, folder=folder or None, credentials=True)


def identity_of(source: RepositorySource) -> str:
    """Return `host/owner/repo` of a source, without its folder; the host of a local one is `local`."""
    if source.local:
        return f"local/{source.url.strip('/').removesuffix('.git')}"
    if source.ssh:
        return f"{source.host}{urlsplit(source.url).path}"
    return source.url.removeprefix("https://")


def syncs_folder(settings: Settings) -> Path:
    """Return the folder in which syncs work; the cleanup removes what killed processes leave there."""
    return settings.data_dir.absolute() / "syncs"


async def _synced(service: Service, sync: Sync, directory: BuildDirectory, log: BuildLog) -> Sync | None:
    """Return a sync with what was found; None if it is not worth keeping."""
    store, settings = service.store, service.settings
    repository = await asyncio.to_thread(store.repositories.get, sync.repository_id)
    if repository is None:
        return None
    source = read_repository(settings, repository.url, repository.folder, sync.branch or repository.branch)
    credentials = await asyncio.to_thread(read_credentials, service, repository)
    log.hide(credentials.hidden())
    branch = source.ref
    if not branch:
        listed = await list_branches(settings, source, directory.folder, log, credentials)
        branch = _default_branch(source, listed)
        await asyncio.to_thread(store.repositories.follow, repository.id, branch)
    source = replace(source, ref=f"{BRANCHES}{branch}")
    fetched = await fetch_commit(settings, source, directory, log, commit=sync.wanted, credentials=credentials)
    sync = _with_commit(sync, branch, fetched, log)
    if sync.cause in (SyncCause.PUSH, SyncCause.POLL):
        known = await asyncio.to_thread(store.syncs.newest, sync.repository_id, branch)
        if known is not None and known.commit_id == sync.commit_id:
            return None
    root = _workspace(directory.source, repository.folder, fetched.id, log)
    found = await asyncio.to_thread(inspect_workspace, root, log.clean)
    snapshot = await asyncio.to_thread(_keep, store.snapshots, root)
    return _succeeded(sync, found, snapshot, log)


def _default_branch(source: RepositorySource, branches: RemoteBranches) -> str:
    """Return the default branch of a repository. Raises BuildError."""
    if not branches.commits:
        raise BuildError(f"{source.url} has no commit yet; push one, then sync again")
    if not branches.default:
        raise BuildError(
            f"{source.url} has no default branch; connect it with the branch to follow, one of "
            f"{', '.join(sorted(branches.commits)[:12])}"
        )
    return branches.default


def _with_commit(sync: Sync, branch: str, fetched: FetchedCommit, log: BuildLog) -> Sync:
    return msgspec.structs.replace(
        sync,
        branch=branch,
        commit_id=fetched.id,
        author=_visible(log.clean(fetched.author)).replace("\n", " ")[:_LONGEST_AUTHOR],
        message=_visible(log.clean(fetched.message))[:_LONGEST_MESSAGE],
        committed_at=fetched.at,
    )


def _succeeded(sync: Sync, found: Inspection, snapshot: Snapshot, log: BuildLog) -> Sync:
    notes = tuple(SyncFault("", note) for note in notes_of(log.text()))
    return msgspec.structs.replace(
        sync,
        state=SyncState.SUCCESS,
        snapshot=snapshot.digest,
        rollouts=found.rollouts,
        configurations=found.configurations,
        faults=(*found.faults, *notes),
        ended_at=time.time(),
    )


def _failed(sync: Sync, reason: str) -> Sync:
    return msgspec.structs.replace(sync, state=SyncState.FAILED, error=reason, ended_at=time.time())


def _visible(text: str) -> str:
    """Return text without characters that control a terminal or are invisible, other than line breaks."""
    return "".join(letter for letter in text if letter == "\n" or unicodedata.category(letter) not in _UNSEEN)


def _workspace(source: Path, folder: str, commit: str, log: BuildLog) -> Path:
    root = source / folder
    if root.is_dir() and root.resolve() == source.resolve() / folder:
        return root
    others = [log.clean(name) for name in ([""] if (source / "rollouts").is_dir() else []) or workspace_folders(source)]
    there = f"; rollouts/ is in {' and in '.join(name or 'its root' for name in others)}" if others else ""
    raise BuildError(f"commit {commit[:12]} has no folder {folder!r}{there}. Connect the repository with the right one")


def _keep(snapshots: Snapshots, root: Path) -> Snapshot:
    return snapshots.add(_files(root), lambda file: _content(root / file.path, file))


def _content(path: Path, file: SnapshotFile) -> bytes:
    return os.fsencode(path.readlink()) if file.link else path.read_bytes()


def _files(root: Path) -> Iterator[SnapshotFile]:
    """Yield the files below a folder. Raises BuildError for names and links that cannot be kept."""
    whole = root.resolve()
    for entry in walk(root):
        name = Path(entry.path).relative_to(root).as_posix()
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BuildError(f"the name of the file {name!a} is not UTF-8; rename it") from None
        if entry.is_symlink():
            target = os.fsencode(Path(entry.path).readlink())
            if target.startswith(b"/") or not Path(os.path.realpath(entry.path)).is_relative_to(whole):
                raise BuildError(f"{name} is a link to a place outside the workspace; put the file itself there")
            yield SnapshotFile(name, digest_bytes(target), len(target), link=True)
            continue
        with Path(entry.path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_HEX]
        status = entry.stat(follow_symlinks=False)
        yield SnapshotFile(name, digest, status.st_size, executable=bool(status.st_mode & 0o100))
