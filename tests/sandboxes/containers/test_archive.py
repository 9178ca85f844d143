"""What an agent leaves behind cannot reach out of its copy."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from mesocosm.sandboxes.containers import archive
from mesocosm.sandboxes.containers.archive import TooLarge, pack, unpack


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for member, data in members:
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mode = kind, link, mode
    return found


def test_a_folder_goes_in_and_comes_out_equal(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "run.sh").write_text("x")
    (tmp_path / "in" / "deep" / "run.sh").chmod(0o755)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        made.add(tmp_path / "in", "in")
    assert unpack(buffer.getvalue(), tmp_path / "copy") == []
    copied = tmp_path / "copy" / "deep" / "run.sh"
    assert (copied.read_text(), stat.S_IMODE(copied.stat().st_mode)) == ("x", 0o755)


def test_what_is_packed_belongs_to_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with tarfile.open(fileobj=io.BytesIO(pack(tmp_path / "file", "other"))) as packed:
        (found,) = packed.getmembers()
    assert (found.name, found.uid, found.uname) == ("other", 0, "root")


@pytest.mark.parametrize(
    "bad",
    [
        member("out/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("out/link", tarfile.SYMTYPE, "../../secret"),
        member("out/device", tarfile.CHRTYPE),
        member("out/pipe", tarfile.FIFOTYPE),
        member("out/hard", tarfile.LNKTYPE, "/etc/passwd"),
        member("out/../../away"),
        member("/etc/away"),
    ],
)
def test_what_leads_out_is_left_behind(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    data = tar((member("out", tarfile.DIRTYPE, mode=0o755), b""), (bad, b""), (member("out/good"), b"good"))
    (tmp_path / "here").mkdir()
    assert unpack(data, tmp_path / "here" / "copy") == [bad.name]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["copy", "good", "here"]


def test_a_link_in_place_of_the_whole_is_left_behind(tmp_path: Path) -> None:
    assert unpack(tar((member("out", tarfile.SYMTYPE, "/etc"), b"")), tmp_path / "copy") == ["out"]
    assert not (tmp_path / "copy").is_symlink()


def test_a_file_is_not_set_user_id(tmp_path: Path) -> None:
    unpack(tar((member("run", mode=0o4755), b"x")), tmp_path / "run")
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 10)
    with pytest.raises(TooLarge):
        unpack(tar((member("out"), b"x" * 11)), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
