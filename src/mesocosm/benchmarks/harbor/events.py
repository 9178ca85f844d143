"""What happens in the container of an episode, as lines of its trace."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mesocosm.core.container import CommandEnd, Container, ContainerCommand, NetworkPolicy
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


def _written(argv: Sequence[str]) -> str:
    """Return a command as its author wrote it."""
    return argv[2] if len(argv) == 3 and argv[1] == "-c" else " ".join(argv)


class RecordedContainer:
    """A container whose commands are recorded: the command, its exit code, and its output up to a limit.

    `stage` is the stream of the trace: `setup`, `agent` or `verifier`.
    """

    def __init__(self, inner: Container, log: Callable[[str, str], None], redactor: Redactor) -> None:
        self.inner = inner
        self.stage = "setup"
        self._log = log
        self._redactor = redactor

    async def exec(self, command: ContainerCommand, *, shown: str = "") -> CommandEnd:
        """Run a command and record it; `shown` replaces it in the trace. Raises EpisodeError."""
        said = shown or _written(command.argv)
        try:
            ended = await self.inner.exec(command)
        except BaseException as error:
            self.say(f"$ {said}\n[not run to its end: {error or type(error).__name__}]")
            raise
        how = f"ended after its {command.seconds:g} s" if ended.late else f"exit code {ended.code}"
        if ended.dropped:
            how += f", {ended.dropped:,} bytes of output left out"
        self.say(f"$ {said}\n{shortened(output_of(ended), MOST_SHOWN)}\n[{how}, {ended.seconds:.1f} s]")
        return ended

    async def quietly(self, script: str, *words: str) -> CommandEnd:
        """Run a script of our own as root, which the trace need not show, with `words` as $1 and following."""
        argv = ("sh", "-c", script, "sh", *words)
        return await self.inner.exec(ContainerCommand(argv, user="root", cwd="/", seconds=60.0))

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
