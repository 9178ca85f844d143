"""Writing files whole or not at all."""

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.interop.files import replacing


def test_a_file_is_replaced_when_the_block_ends_well_and_kept_when_it_does_not(tmp_path: Path) -> None:
    place = tmp_path / "new" / "file"
    with replacing(place) as file:
        file.write(b"first")
    with pytest.raises(ValueError, match="broken"), replacing(place) as file:
        _write_half(file)

    assert place.read_bytes() == b"first"
    assert [found.name for found in place.parent.iterdir()] == ["file"]


def _write_half(file: BinaryIO) -> None:
    file.write(b"second")
    raise ValueError("broken")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as file:
        file.write(b"after")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"after"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replacing(pipe) as file:
            file.write(b"through")

        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    place = tmp_path / "file" / "below"

    with pytest.raises(UsageError, match="below cannot be written: "), replacing(place):
        pass
