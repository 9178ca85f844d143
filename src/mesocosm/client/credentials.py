"""The saved login: one file that only its owner can read, written as a whole, changed under a lock."""

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
    """A login. `mode` is member, guest, or empty where nobody is logged in; texts are empty where nothing is known.

    `rest` holds keys of the file that are not ours; they stay in it.
    """

    mode: str = ""
    token: str = field(default="", repr=False)
    server_url: str = ""
    bench_url: str = ""
    active_team_id: str = ""
    refresh_token: str = field(default="", repr=False)
    username: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what stands in the file: only what is known."""
        known = {name: value for name in NAMES if (value := getattr(self, name))}
        return {**known, **self.rest}


NAMES = tuple(item.name for item in fields(Credentials) if item.name != "rest")


def place() -> Path:
    """Return the file of the saved login: SWECC_BENCH_CREDENTIALS, else one beneath ~/.config."""
    named = os.environ.get(CREDENTIALS_VARIABLE) or DEFAULT_PLACE
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{named} cannot be found ({error}); name a file by {CREDENTIALS_VARIABLE}") from error


def read_document() -> dict[str, Any]:
    """Return what stands in the file, empty where there is none. Raises UsageError when it cannot be read."""
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
    """Return the saved login, an empty one where there is none. Raises UsageError when it cannot be read."""
    document = read_document()
    texts = {name: document[name] for name in NAMES if isinstance(document.get(name), str)}
    rest = {name: value for name, value in document.items() if name not in NAMES}
    return Credentials(**texts, rest=rest)


def write_document(document: Mapping[str, Any]) -> Path:
    """Replace the file, in one step and with mode 0600, and return it."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
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
    """Replace the saved login and return its file."""
    return write_document(credentials.to_json())


def forget() -> bool:
    """Remove the saved login, also one that cannot be read, and return whether there was one."""
    path = place()
    if not path.exists():
        return False
    with locked():  # a renewal that is under way does not write the login again
        path.unlink(missing_ok=True)
    return True


def choose_team(team_id: str) -> None:
    """Remember the team that is worked for, before a login as well; an empty one forgets it."""
    with locked():
        write(replace(read(), active_team_id=team_id))


@contextmanager
def locked() -> Iterator[None]:
    """Hold the login alone, so that of several commands one renews it and the others see what it wrote."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # where there are no such locks, replacing the file as a whole has to do
        yield
        return
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
