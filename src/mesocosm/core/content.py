"""Detect changes during a run to the files that it started with."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import PurePath

from mesocosm.core.failure import Cause, EpisodeError, MesocosmError

_CODE = frozenset({".py", ".so", ".pyd"})
_NAMED = 3


class Content:
    """Files that decide what a run measures: their digests by name, and a function that reads them again.

    `subject` names what the files belong to; `advice` is an additional remedy for a change. Call `check` before and
    after loading code or data, so that what was loaded belongs to the files that the run's digest covers.
    """

    def __init__(
        self, subject: str, files: Mapping[str, str], read: Callable[[], Mapping[str, str]], advice: str = ""
    ) -> None:
        self.subject = subject
        self._advice = advice
        self._files = files
        self._read = read

    def changed(self) -> str:
        """Return which files changed, as a sentence, or "". New files count only if they are code; logs never count."""
        try:
            now = self._read()
        except (MesocosmError, OSError) as error:
            return f"{self.subject} can no longer be read ({error})"
        names = [name for name, content in self._files.items() if now.get(name) != content]
        names += [name for name in now if name not in self._files and PurePath(name).suffix in _CODE]
        names = sorted(name for name in names if not name.endswith(".log"))
        if not names:
            return ""
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        verb = "has" if len(names) == 1 else "have"
        return f"{', '.join(names[:_NAMED])}{more} of {self.subject} {verb} changed since the run began"

    async def check(self) -> None:
        """Raise EpisodeError (cancelled) if a file has changed, so that the remaining episodes stay pending."""
        changed = await asyncio.to_thread(self.changed)
        if changed:
            raise EpisodeError(
                Cause.CANCELLED,
                f"{changed}; what is played now would not belong to its results. Bring the old content back and resume "
                f"the run, or start a new one{self._advice and '; '}{self._advice}",
            )

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for readers of the results if a file has changed since the run began."""
        changed = self.changed()
        doubt = "what was read or imported after that is of the new content; start a new run to be sure of the numbers"
        return (f"{changed}: {doubt}",) if changed else ()
