"""Read members of ZIP files that were stored, deflated, or packed with Zstandard (method 93)."""

import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import zstandard

ZSTANDARD = 93
"""Method of ZIP members that the standard library reads from Python 3.14 on only."""

_LOCAL = struct.Struct("<4s5H3I2H")
_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 0x1


class ZipMembers:
    """The members of a ZIP file by name; of several with one name, the last. Use it as a context.

    Opening it raises ValueError if the file has no directory of its members, as after a copy that was cut off.
    """

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        try:
            with zipfile.ZipFile(self._file) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, OSError) as error:
            self._file.close()
            raise ValueError(
                f"it is not a whole ZIP file ({error}); the copy was cut off, or it is still being written"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> list[str]:
        """Return the names of all members, in the order of the directory."""
        return list(self._members)

    def read(self, name: str, most: int | None = None) -> bytes:
        """Return the content of a member. Raises KeyError, and ValueError if it is damaged or larger than `most`."""
        info = self._members[name]
        if info.flag_bits & _ENCRYPTED:
            raise ValueError(f"{name} in it is encrypted")
        if most is not None and info.file_size > most:
            raise ValueError(f"{name} in it has {info.file_size:,} bytes, more than {most:,}")
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(_MAGIC):
            raise ValueError(f"{name} in it is damaged: it is not where the directory says")
        *_, names, extra = _LOCAL.unpack(head)
        self._file.seek(names + extra, 1)
        packed = self._file.read(info.compress_size)
        if len(packed) < info.compress_size:
            raise ValueError(f"{name} in it is cut off")
        data = _unpack(packed, info)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError(f"{name} in it is damaged: its checksum is another one")
        return data


def _unpack(packed: bytes, info: zipfile.ZipInfo) -> bytes:
    try:
        if info.compress_type == zipfile.ZIP_STORED:
            return packed
        if info.compress_type == zipfile.ZIP_DEFLATED:
            return _inflate(packed, info.file_size)
        if info.compress_type == ZSTANDARD:
            # Several frames, because writers begin a new one every few hundred megabytes.
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
                return bytes(reader.read(info.file_size + 1))
    except (zlib.error, zstandard.ZstdError) as error:
        raise ValueError(f"{info.filename} in it is damaged: {error}") from error
    raise ValueError(f"{info.filename} in it is packed by method {info.compress_type}, which is not supported")


def _inflate(packed: bytes, size: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    data = unpacker.decompress(packed, size + 1)
    return data + unpacker.flush() if len(data) <= size else data
