"""Which files of a folder are uploaded, as a snapshot. Secrets and what .gitignore names stay where they are."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mesocosm.client.local_tree import run_git
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import DIGEST_HEX, digest_bytes
from mesocosm.core.snapshot import Snapshot, SnapshotFile, snapshot_of
from mesocosm.rollouts.source import LEFT_OUT

SECRET_FILES = (
    *(".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa", "id_dsa"),
    *("id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pypirc", ".npmrc", ".git-credentials", ".htpasswd"),
    *("credentials.json", "service-account*.json", "service_account*.json", "secrets.toml", "secrets.json"),
)
"""Patterns of names of files that usually hold secrets, in lower case. They are not uploaded, committed or not."""
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud"})
_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist")
_LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


@dataclass(frozen=True, slots=True)
class PackedFolder:
    """The snapshot of a folder. `left_out` are files that were expected in it, each with the reason."""

    root: Path
    snapshot: Snapshot
    left_out: tuple[str, ...] = ()

    def content(self, file: SnapshotFile) -> bytes:
        """Return the content of a file. Raises UsageError if it changed since the snapshot was made."""
        path = self.root / file.path
        try:
            found = os.fsencode(path.readlink()) if file.link else path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
        if digest_bytes(found) != file.digest:
            raise UsageError(f"{path} changed while it was uploaded; upload it again once nothing writes to it")
        return found


def pack_folder(root: Path) -> PackedFolder:
    """Return the snapshot of the files below a folder, with committed and uncommitted changes.

    Raises UsageError if a file cannot be read, or git is missing and there is a .gitignore to follow.
    """
    files, left_out = [], list[str]()
    for name in _names(root):
        path, parts = root / name, name.rstrip("/").split("/")
        if any(part in LEFT_OUT for part in parts) or name.endswith((".pyc", ".DS_Store")):
            continue
        if is_secret_file(name):
            left_out.append(f"{name}: it may hold secrets; use mesocosm secret set")
        elif path.is_dir() and not path.is_symlink():
            left_out.append(f"{name.rstrip('/')}: it is a repository of its own; copy its files into a folder")
        elif (file := _file(path, name)) is not None:
            files.append(file)
    return PackedFolder(root, snapshot_of(files), tuple(left_out))


def is_secret_file(name: str) -> bool:
    """Return whether a path is that of a file that usually holds secrets."""
    *folders, last = name.lower().split("/")
    if any(folder in _SECRET_FOLDERS for folder in folders):
        return True
    return last not in _EXAMPLES and any(fnmatchcase(last, pattern) for pattern in SECRET_FILES)


def _names(root: Path) -> list[str]:
    """Return the paths of the files below a folder that .gitignore does not name; folders end with a slash."""
    if shutil.which("git") is None:
        names = list(_walk(root))
        if any(name.rpartition("/")[2] == ".gitignore" for name in names):
            raise UsageError(f"{root} has a .gitignore, which only git can follow; install git, or remove the file")
        return names
    try:
        run_git(root, "rev-parse", "--show-toplevel")
        listed = run_git(root, *_LISTED)
    except UsageError:
        # In no repository: an empty one elsewhere lets git read the .gitignore files all the same.
        with tempfile.TemporaryDirectory() as place:
            run_git(Path(place), "init", "--quiet", "--bare", ".")
            listed = run_git(root, *_LISTED, variables={"GIT_DIR": place, "GIT_WORK_TREE": str(root.resolve())})
    return [name for name in dict.fromkeys(listed.split("\0")) if name]


def _walk(root: Path, prefix: str = "") -> Iterator[str]:
    try:
        entries = list(os.scandir(root))
    except OSError as error:
        raise UsageError(f"{root} cannot be read: {error.strerror or error}") from error
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield prefix + entry.name
        elif entry.name not in LEFT_OUT:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")


def _file(path: Path, name: str) -> SnapshotFile | None:
    """Return the file at a path; None if it was deleted, or is a socket or another special file."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name of the file {name!a} is not UTF-8; rename it") from None
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            target = os.fsencode(path.readlink())
            return SnapshotFile(name, digest_bytes(target), len(target), link=True)
        if not stat.S_ISREG(status.st_mode):
            return None
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_HEX]
            return SnapshotFile(name, digest, file.tell(), executable=bool(status.st_mode & 0o100))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
