"""What happens in the container of an episode, as lines of its trace."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mesocosm.core.container import CommandEnd, Container, NetworkPolicy
from mesocosm.core.redact import Redactor

MOST_SHOWN = 16_000
"""Characters of the output of a command that the trace keeps: the first and the last half."""


def shortened(text: str, most: int) -> str:
    """Return a text of at most about `most` characters, without its middle."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[{len(text) - most:,} characters left out]\n{text[-(most // 2) :]}"


def output_of(ended: CommandEnd) -> str:
    """Return what a command wrote: standard output, then standard error."""
    parts = [part.decode(errors="replace") for part in (ended.out, ended.err) if part]
    return "\n".join(part.rstrip("\n") for part in parts)


class RecordedContainer:
    """A container whose commands are recorded: the command, its exit code, and its output up to a limit.

    `stage` is the stream of the trace: `setup`, `agent` or `verifier`.
    """

    def __init__(self, inner: Container, log: Callable[[str, str], None], redactor: Redactor) -> None:
        self.inner = inner
        self.stage = "setup"
        self._log = log
        self._redactor = redactor

    async def exec(
        self,
        argv: Sequence[str],
        *,
        user: str | int | None = None,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        seconds: float | None = None,
        shown: str = "",
    ) -> CommandEnd:
        """Run a command and record it; `shown` replaces it in the trace. Raises EpisodeError."""
        command = shown or (argv[2] if list(argv[1:2]) == ["-c"] and len(argv) == 3 else " ".join(argv))
        try:
            ended = await self.inner.exec(argv, user=user, cwd=cwd, env=env, seconds=seconds)
        except BaseException as error:
            self.say(f"$ {command}\n[not run to its end: {error or type(error).__name__}]")
            raise
        how = f"ended after its {seconds:g} s" if ended.late else f"exit code {ended.code}"
        if ended.dropped:
            how += f", {ended.dropped:,} bytes of output left out"
        self.say(f"$ {command}\n{shortened(output_of(ended), MOST_SHOWN)}\n[{how}, {ended.seconds:.1f} s]")
        return ended

    async def quietly(
        self, script: str, *words: str, user: str | int | None = "root", seconds: float = 60.0
    ) -> CommandEnd:
        """Run a script of our own, which the trace need not show, with `words` as $1 and following."""
        return await self.inner.exec(["sh", "-c", script, "sh", *words], user=user, cwd="/", seconds=seconds)

    async def put(self, source: Path, target: str) -> None:
        """Copy a file, or the content of a folder, in."""
        await self.inner.put(source, target)

    async def get(self, source: str, target: Path) -> bool:
        """Copy a file or folder out."""
        return await self.inner.get(source, target)

    async def admit(self, policy: NetworkPolicy) -> None:
        """Change what the container may reach."""
        await self.inner.admit(policy)

    def say(self, text: str) -> None:
        """Record a line."""
        self._log(self.stage, self._redactor.text(text))
