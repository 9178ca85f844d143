"""The saved login: one file that only its owner can read, replaced atomically and changed under a lock."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mesocosm.core.failure import UsageError

CREDENTIALS_VARIABLE = "SWECC_BENCH_CREDENTIALS"
DEFAULT_PLACE = "~/.config/swecc/bench_credentials.json"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A login. `mode` is member, guest, or empty when not logged in; unknown values are empty strings.

    `rest` holds keys of the file that do not belong to this class; they are written back unchanged.
    """

    mode: str = ""
    token: str = field(default="", repr=False)
    server_url: str = ""
    bench_url: str = ""
    active_team_id: str = ""
    refresh_token: str = field(default="", repr=False)
    username: str = ""
    active_workspace_id: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file: only non-empty values."""
        known = {name: value for name in NAMES if (value := getattr(self, name))}
        return {**known, **self.rest}


NAMES = tuple(item.name for item in fields(Credentials) if item.name != "rest")


def place() -> Path:
    """Return the path of the saved login: SWECC_BENCH_CREDENTIALS, otherwise a file below ~/.config."""
    named = os.environ.get(CREDENTIALS_VARIABLE) or DEFAULT_PLACE
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{named} cannot be found ({error}); name a file by {CREDENTIALS_VARIABLE}") from error


def read_document() -> dict[str, Any]:
    """Return the content of the file, empty if there is none. Raises UsageError if it cannot be read."""
    path = place()
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"the saved login {path} cannot be read ({error}); remove it and log in again") from error
    if not isinstance(document, dict):
        raise UsageError(f"the saved login {path} is not a JSON object; remove it and log in again")
    return document


def read() -> Credentials:
    """Return the saved login, an empty one if there is none. Raises UsageError if it cannot be read."""
    document = read_document()
    texts = {name: document[name] for name in NAMES if isinstance(document.get(name), str)}
    rest = {name: value for name, value in document.items() if name not in NAMES}
    return Credentials(**texts, rest=rest)


def write_document(document: Mapping[str, Any]) -> Path:
    """Replace the file atomically, with mode 0600, and return its path."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # created with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(document), file, indent=2)
            file.write("\n")
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return path


def write(credentials: Credentials) -> Path:
    """Replace the saved login and return the path of its file."""
    return write_document(credentials.to_json())


def forget() -> bool:
    """Remove the saved login, even if it cannot be read, and return whether there was one."""
    path = place()
    if not path.exists():
        return False
    with locked():  # so that a concurrent renewal does not write the login again
        path.unlink(missing_ok=True)
    return True


def choose_team(team_id: str) -> None:
    """Save the active team, also before a login; an empty id clears it."""
    with locked():
        write(replace(read(), active_team_id=team_id))


def choose_workspace(workspace_id: str) -> None:
    """Save the active workspace; an empty id clears it."""
    with locked():
        write(replace(read(), active_workspace_id=workspace_id))


@contextmanager
def locked() -> Iterator[None]:
    """Lock the login, so that one of several concurrent commands renews it and the others read the result."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # without file locks, atomic replacement of the file has to suffice
        yield
        return
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
