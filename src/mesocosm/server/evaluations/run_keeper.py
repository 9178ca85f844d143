"""Store what a run's programs leave: their output while it grows, and the files of its rows."""

import asyncio
import logging
import mimetypes
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mesocosm.core.entry import Blob
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.redact import Redactor
from mesocosm.server.builds.log import BuildLog
from mesocosm.store import Store

FOLLOW_S = 1.0
"""Seconds between looks at what was printed."""
_PAUSE_S, _PATIENCE_S = 0.02, 10.0
"""Seconds between attempts to store files of an episode whose start is just being stored, and until they are given up.
"""

NewText = Callable[[bool], str]
"""Returns the whole lines that were added since the last call; if it is the last one (`True`), everything."""

_log = logging.getLogger(__name__)


class RunKeeper:
    """Stores output and artifacts of one run. A run that was deleted meanwhile gets none."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    @asynccontextmanager
    async def following(self, new: NewText) -> AsyncIterator[None]:
        """Store new output again and again in this context, and the rest at its end."""
        over = asyncio.Event()

        async def follow() -> None:
            while not over.is_set():
                try:
                    async with asyncio.timeout(FOLLOW_S):
                        await over.wait()
                except TimeoutError:
                    await self._add(new(False))  # noqa: FBT003
            await self._add(new(True))  # noqa: FBT003

        following = asyncio.create_task(follow())
        try:
            yield
        finally:
            over.set()
            await following

    async def _add(self, text: str) -> None:
        if not text:
            return
        try:
            await asyncio.to_thread(self._store.run_output.add, self._run_id, text)
        except InfrastructureError as error:
            # Output is not worth the end of a run, which fails by itself if the store stays away.
            _log.warning("output of run %s is lost: %s", self._run_id, error)

    async def keep_artifacts(self, episode_id: str, folder: Path, redactor: Redactor) -> None:
        """Store the files below a folder as artifacts of an episode, without secrets in names and contents."""
        files = await asyncio.to_thread(_files, folder, redactor)
        if not files:
            return
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while not await asyncio.to_thread(self._store.artifacts.keep, self._run_id, episode_id, files):
            if asyncio.get_running_loop().time() > deadline:
                _log.warning("the artifacts of episode %s are lost: it is not stored", episode_id)
                break
            await asyncio.sleep(_PAUSE_S)


class BuildOutput:
    """New lines of a build log, through `redact`."""

    def __init__(self, log: BuildLog, redact: Callable[[str], str]) -> None:
        self._log = log
        self._redact = redact
        self._known = 0

    def __call__(self, last: bool) -> str:
        """Return new text, as NewText."""
        text = self._log.text()
        # The beginning of a very long log is dropped, and what is left then counts as new.
        new = text[self._known :] if len(text) >= self._known else text
        new = new if last else new[: new.rfind("\n") + 1]
        self._known = len(text) if last else self._known + len(new)
        return self._redact(new)


class FileOutput:
    """New lines of a file that only grows, through `redact`."""

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact
        self._known = 0

    def __call__(self, last: bool) -> str:
        """Return new text, as NewText."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._known)
                new = file.read()
        except FileNotFoundError:
            return ""
        new = new if last else new[: new.rfind(b"\n") + 1]
        self._known += len(new)
        return self._redact(new.decode("utf-8", "replace"))


def _files(folder: Path, redactor: Redactor) -> dict[str, Blob]:
    """Return the regular files below a folder by path."""
    found = dict[str, Blob]()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = redactor.content(path.read_bytes())
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            given = path.relative_to(folder).as_posix()
            name = redactor.text(given)
            # Two names that differ only in a secret must not become one.
            while name != given and name in found:
                name += redactor.mark
            found[name] = Blob(digest_bytes(data), kind, data)
    return found
