"""Copy files into and out of containers with `tar`, run inside."""

import asyncio
import posixpath
import tarfile
from collections.abc import Sequence
from pathlib import Path

from mesocosm.core.container import Container, ContainerCommand
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.containers.archive import MOST_BYTES, TooLarge, pack, unpack

_COPY_S = 300.0
_PACK = 'test -e "$0/$1" || exit 66; exec tar -cf - -C "$0" -- "$1"'


async def put_archive(container: Container, source: Path, target: str) -> None:
    """Copy a file to `target`, or the content of a folder into the folder `target`. Raises EpisodeError."""
    folder = target if await asyncio.to_thread(source.is_dir) else posixpath.dirname(target) or "/"
    data = await asyncio.to_thread(pack, source, posixpath.basename(target))
    script = 'mkdir -p -- "$0" && exec tar -xf - -C "$0"'
    ended = await container.exec(ContainerCommand(["sh", "-c", script, folder], stdin=data, cwd="/", seconds=_COPY_S))
    if ended.code:
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR,
            f"{source.name} cannot be copied to {target} of the container: exit code {ended.code}",
            stderr=ended.err.decode(errors="replace"),
        )


def is_packing(argv: Sequence[str]) -> bool:
    """Return whether a command is that of `get_archive`, whose output must not be cut."""
    return list(argv[:3]) == ["sh", "-c", _PACK]


async def get_archive(container: Container, source: str, target: Path) -> bool:
    """Copy a file or folder to `target`; return whether it was there. Raises EpisodeError."""
    folder, name = posixpath.split(source.rstrip("/"))
    ended = await container.exec(ContainerCommand(["sh", "-c", _PACK, folder or "/", name], cwd="/", seconds=_COPY_S))
    if ended.code == 66:
        return False
    if ended.code or ended.late or ended.dropped:
        why = f"more than {MOST_BYTES >> 20} MB" if ended.dropped else f"exit code {ended.code}"
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR,
            f"{source} cannot be copied out of the container: {why}",
            stderr=ended.err.decode(errors="replace"),
        )
    await write_archive(ended.out, source, target)
    return True


async def write_archive(data: bytes, source: str, target: Path) -> list[str]:
    """Write an archive of `source` to `target`; return what was left behind. Raises EpisodeError."""
    try:
        return await asyncio.to_thread(unpack, data, target)
    except (tarfile.TarError, TooLarge, OSError) as error:
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR, f"{source} cannot be copied out of the container: {error}"
        ) from error
