"""Files that enter and leave containers, as tar archives.

What comes out of a container was written by an agent: links that lead out of the folder, devices and sockets are left
behind, and no file is set-user-ID.
"""

import io
import tarfile
from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024
"""Maximum size in bytes of what is copied out of a container at once."""


class TooLarge(Exception):
    """An archive holds more than MOST_BYTES."""


def pack(source: Path, name: str = "") -> bytes:
    """Return an archive of a file as `name`, or of the content of a folder. Owners become root; modes stay."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        if source.is_dir():
            for path in sorted(source.iterdir()):
                archive.add(path, path.name, filter=_of_root)
        else:
            archive.add(source, name or source.name, filter=_of_root)
    return buffer.getvalue()


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def unpack(data: bytes, target: Path) -> list[str]:
    """Write the only entry of an archive, a file or a folder, to `target`; return the names left behind.

    Raises TooLarge, tarfile.TarError.
    """
    left: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
        if sum(member.size for member in members) > MOST_BYTES:
            raise TooLarge(f"more than {MOST_BYTES >> 20} MB")
        root = members[0].name.rstrip("/").split("/")[0] if members else ""
        for member in members:
            inside = Path(*Path(member.name).parts[1:])
            if not (member.isreg() or member.isdir() or member.issym()):
                left.append(member.name)
                continue
            try:
                _write(archive, member, root, inside, target)
            except (tarfile.FilterError, OSError, KeyError):
                left.append(member.name)
    return left


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, root: str, inside: Path, target: Path) -> None:
    if Path(member.name).parts[0] != root:
        raise tarfile.OutsideDestinationError(member, str(target))
    if not inside.parts and member.issym():
        raise tarfile.SpecialFileError(member)
    renamed = member.replace(name=str(Path(target.name) / inside), deep=False)
    archive.extract(renamed, target.parent, set_attrs=True, filter="data")
