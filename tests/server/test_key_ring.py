"""The keys of the secrets: where they are from, what they open, and what happens without them."""

import base64
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from mesocosm.core.failure import InfrastructureError
from mesocosm.server.key_ring import FILE_NAME, PREFIX, KeyRing, add_key, read_keys
from mesocosm.server.settings import Settings, read_settings

PLACE = ("w1", "workspace", "API_KEY")
VALUE = SecretStr("sk-canary-5c1f\nsecond line é\n")


def key(byte: int) -> str:
    return base64.b64encode(bytes([byte]) * 32).decode()


def settings(tmp_path: Path, **given: Any) -> Settings:
    return read_settings(data_dir=tmp_path / "data", **given)


def ring(tmp_path: Path, **given: Any) -> KeyRing:
    found = read_keys(settings(tmp_path, **given))
    assert found is not None
    return found


def test_a_value_comes_back_from_its_place_and_from_no_other(tmp_path: Path) -> None:
    keys = ring(tmp_path, secrets_key=key(1))
    sealed = keys.encrypt(VALUE, PLACE)
    assert keys.decrypt(sealed, PLACE) == VALUE
    for place in (("w2", *PLACE[1:]), ("w1", "user:1", "API_KEY"), ("w1", "workspace", "OTHER")):
        with pytest.raises(InfrastructureError, match=r"changed or moved .* set it again"):
            keys.decrypt(sealed, place)


def test_parts_of_a_place_cannot_be_shifted_into_one_another(tmp_path: Path) -> None:
    keys = ring(tmp_path, secrets_key=key(1))
    sealed = keys.encrypt(VALUE, ("a", "b,c", "D"))
    with pytest.raises(InfrastructureError):
        keys.decrypt(sealed, ("a,b", "c", "D"))


def test_equal_values_do_not_look_equal(tmp_path: Path) -> None:
    keys = ring(tmp_path, secrets_key=key(1))
    assert keys.encrypt(VALUE, PLACE) != keys.encrypt(VALUE, PLACE)


@pytest.mark.parametrize("broken", ["", "plain text", "a1.", "b2.0123456789abcdef.AAAA", "a1.zz.AAAA"])
def test_what_is_no_ciphertext_is_an_error_and_not_a_value(tmp_path: Path, broken: str) -> None:
    with pytest.raises(InfrastructureError, match="API_KEY"):
        ring(tmp_path, secrets_key=key(1)).decrypt(broken, PLACE)


def test_no_byte_of_a_ciphertext_can_be_changed(tmp_path: Path) -> None:
    keys = ring(tmp_path, secrets_key=key(1))
    sealed = keys.encrypt(VALUE, PLACE)
    for at in range(0, len(sealed), 7):
        changed = sealed[:at] + ("A" if sealed[at] != "A" else "B") + sealed[at + 1 :]
        with pytest.raises(InfrastructureError):
            keys.decrypt(changed, PLACE)
    with pytest.raises(InfrastructureError):
        keys.decrypt(sealed[: PREFIX + 8], PLACE)


def test_the_first_key_encrypts_and_older_ones_decrypt(tmp_path: Path) -> None:
    old = ring(tmp_path, secrets_key=key(1))
    both = ring(tmp_path, secrets_key=f"{key(2)}, {key(1)}")
    sealed = old.encrypt(VALUE, PLACE)
    assert both.decrypt(sealed, PLACE) == VALUE
    assert not old.opens(both.encrypt(VALUE, PLACE))


def test_a_missing_key_names_the_settings_and_the_secret(tmp_path: Path) -> None:
    sealed = ring(tmp_path, secrets_key=key(1)).encrypt(VALUE, PLACE)
    with pytest.raises(InfrastructureError) as error:
        ring(tmp_path, secrets_key=key(2)).decrypt(sealed, PLACE)
    for word in ("API_KEY", "MESOCOSM_SECRETS_KEY", "MESOCOSM_SECRETS_KEY_FILE", FILE_NAME, sealed[3:19]):
        assert word in str(error.value)
    assert key(1) not in str(error.value)
    assert key(2) not in str(error.value)


def test_a_file_has_a_key_per_line_in_either_alphabet(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    odd = base64.urlsafe_b64encode(b"\xff" * 32).decode()
    file.write_text(f"# newest\n{odd}\n\n  {key(1)}  \r\n")
    keys = ring(tmp_path, secrets_key_file=file)
    assert keys.opens(ring(tmp_path, secrets_key=key(1)).prefix)
    assert keys.prefix == ring(tmp_path, secrets_key=odd.translate(str.maketrans("-_", "+/"))).prefix


@pytest.mark.parametrize("content", ["", "# nothing\n", "canary-short", f"{key(1)}\n{key(1)[:-4]}", "ü" * 44])
def test_a_file_without_usable_keys_is_an_error_without_its_content(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content, "utf-8")
    with pytest.raises(InfrastructureError, match="MESOCOSM_SECRETS_KEY_FILE") as error:
        read_keys(settings(tmp_path, secrets_key_file=file))
    assert "canary" not in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_a_named_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"MESOCOSM_SECRETS_KEY_FILE cannot be read \(No such file"):
        read_keys(settings(tmp_path, secrets_key_file=tmp_path / "keys"))
    assert not (tmp_path / "keys").exists()


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"\xff\xfe\0")
    with pytest.raises(InfrastructureError, match="it is not text"):
        read_keys(settings(tmp_path, secrets_key_file=tmp_path / "keys"))


def test_two_settings_for_the_key_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="keep one of them"):
        read_keys(settings(tmp_path, secrets_key=key(1), secrets_key_file=tmp_path / "keys"))


def test_settings_do_not_show_the_key(tmp_path: Path) -> None:
    given = settings(tmp_path, secrets_key=key(1))
    assert key(1) not in repr(given) + str(given) + given.model_dump_json()


def test_the_file_of_the_data_directory_is_private_and_made_once(tmp_path: Path) -> None:
    given = settings(tmp_path)
    assert read_keys(given) is None
    before = os.umask(0)
    try:
        made = add_key(given, first=True)
    finally:
        os.umask(before)
    path = given.data_dir / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert add_key(given, first=True).prefix == made.prefix
    assert [entry.name for entry in given.data_dir.iterdir()] == [FILE_NAME]


def test_several_that_make_the_first_key_at_once_agree(tmp_path: Path) -> None:
    given, found = settings(tmp_path), list[str]()
    threads = [threading.Thread(target=lambda: found.append(add_key(given, first=True).prefix)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_new_key_stands_before_the_older_ones(tmp_path: Path) -> None:
    given = settings(tmp_path)
    old = add_key(given, first=True)
    sealed = old.encrypt(VALUE, PLACE)
    new = add_key(given, first=False)
    assert new.prefix != old.prefix
    assert new.decrypt(sealed, PLACE) == VALUE


def test_a_key_file_that_is_damaged_is_not_replaced(tmp_path: Path) -> None:
    given = settings(tmp_path)
    add_key(given, first=True)
    (given.data_dir / FILE_NAME).write_text("half a k")
    for first in (True, False):
        with pytest.raises(InfrastructureError, match=r"secrets\.key of the data directory"):
            add_key(given, first=first)
    assert (given.data_dir / FILE_NAME).read_text() == "half a k"


def test_a_directory_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    given = read_settings(data_dir=tmp_path / "file" / "data")
    with pytest.raises(InfrastructureError, match="MESOCOSM_SECRETS_KEY_FILE"):
        add_key(given, first=True)
