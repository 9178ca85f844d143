"""Encryption of the secrets of workspaces, with keys that are never in the database.

The keys come from MESOCOSM_SECRETS_KEY, from the file of MESOCOSM_SECRETS_KEY_FILE, or from `secrets.key` in the data
directory, which is made when the first secret is set. The first key encrypts, all of them decrypt. Files are read for
every use, so that a new key takes effect without a restart. The reasons are in `docs/decisions/016-secrets.md`.
"""

import base64
import binascii
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from mesocosm.core.failure import InfrastructureError
from mesocosm.server.settings import Settings

FILE_NAME = "secrets.key"
SETTINGS = "MESOCOSM_SECRETS_KEY or MESOCOSM_SECRETS_KEY_FILE"
PREFIX = 20
"""Length of the part of a ciphertext that names its key: `a1.`, 16 digits, `.`."""

_FORM = "32 random bytes in base64, as `openssl rand -base64 32` prints"
_KEY_BYTES, _NONCE_BYTES = 32, 12
_LARGEST = 65_536
_VERSION = "a1"

Place = tuple[str, str, str]
"""Where a ciphertext belongs: workspace id, holder and name. It can be decrypted for no other place."""


class KeyRing:
    """Keys in the order in which they are used: the first one encrypts. `source` says where they are from."""

    def __init__(self, keys: Sequence[bytes], source: str) -> None:
        self._keys = {key_id(key): key for key in keys}
        self.source = source

    @property
    def prefix(self) -> str:
        """The beginning of everything that the first key encrypts."""
        return next(f"{_VERSION}.{name}." for name in self._keys)

    def opens(self, ciphertext: str) -> bool:
        """Return whether the key of a ciphertext, or of the beginning of one, is here."""
        version, _, rest = ciphertext.partition(".")
        return version == _VERSION and rest.partition(".")[0] in self._keys

    def encrypt(self, value: SecretStr, place: Place) -> str:
        """Return a value as text that only this place can be decrypted from."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        prefix = self.prefix
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._key(prefix)).encrypt(nonce, value.get_secret_value().encode(), _bound(prefix, place))
        return prefix + base64.b64encode(nonce + sealed).decode()

    def decrypt(self, ciphertext: str, place: Place) -> SecretStr:
        """Return the value of a ciphertext. Raises InfrastructureError if its key is missing or it was changed."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        prefix, data = ciphertext[:PREFIX], ciphertext[PREFIX:]
        if not self.opens(prefix):
            raise missing_key(place, prefix, self.source)
        try:
            sealed = base64.b64decode(data, validate=True)
            nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            plain = AESGCM(self._key(prefix)).decrypt(nonce, rest, _bound(prefix, place))
            return SecretStr(plain.decode())
        except (InvalidTag, ValueError):
            raise InfrastructureError(
                f"the stored value of the secret {place[2]} was changed or moved in the database, and cannot be "
                "decrypted; set it again"
            ) from None

    def _key(self, prefix: str) -> bytes:
        return self._keys[prefix.split(".")[1]]


def missing_key(place: Place, prefix: str, source: str) -> InfrastructureError:
    """Return the error for a secret whose key is not in a key ring."""
    named = prefix.split(".")[1] if prefix.count(".") > 1 else "unknown"
    return InfrastructureError(
        f"the secret {place[2]} is encrypted with the key {named}, which is not in {source}: the operator of the "
        f"server can bring that key back ({SETTINGS}, or {FILE_NAME} in the data directory); if it is lost, set the "
        "secret again"
    )


def read_keys(settings: Settings) -> KeyRing | None:
    """Return the keys of a server; None before its own file is made. Raises InfrastructureError."""
    given = settings.secrets_key.get_secret_value()
    if given and settings.secrets_key_file:
        raise InfrastructureError(
            "both MESOCOSM_SECRETS_KEY and MESOCOSM_SECRETS_KEY_FILE are set; keep one of them, for they may differ"
        )
    if given:
        return _ring(re.split(r"[\s,]+", given.strip()), "MESOCOSM_SECRETS_KEY")
    if settings.secrets_key_file:
        return _read(settings.secrets_key_file, "the file of MESOCOSM_SECRETS_KEY_FILE")
    path = settings.data_dir / FILE_NAME
    return _read(path, _own(path)) if path.exists() else None


def add_key(settings: Settings, *, first: bool) -> KeyRing:
    """Write a new key in front of those of `secrets.key` and return all of them.

    With `first`, keep a file that another process has made in the meantime. Raises InfrastructureError.
    """
    path = settings.data_dir / FILE_NAME
    try:
        settings.data_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
        with _locked(settings.data_dir):
            older = _read(path, _own(path)) if path.exists() else None
            if older is None or not first:
                kept = path.read_text("utf-8") if older is not None else ""
                _replace(path, base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode() + "\n" + kept)
    except OSError as error:
        raise InfrastructureError(
            f"the key of the secrets cannot be written to {FILE_NAME} in the data directory "
            f"({error.strerror or error}); make it writable, or set {SETTINGS}"
        ) from None
    return _read(path, _own(path))


def key_id(key: bytes) -> str:
    """Return the public name of a key."""
    return hashlib.sha256(b"mesocosm secrets key\0" + key).hexdigest()[:16]


def _own(path: Path) -> str:
    return f"{path.name} of the data directory"


def _read(path: Path, source: str) -> KeyRing:
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or "it is not text"
        raise InfrastructureError(f"{source} cannot be read ({why}); it holds the keys of the secrets") from None
    lines = map(str.strip, text.splitlines())
    return _ring([line for line in lines if line and not line.startswith("#")], source)


def _ring(keys: Sequence[str], source: str) -> KeyRing:
    if not keys:
        raise InfrastructureError(f"{source} has no key in it; write one: {_FORM}")
    return KeyRing([_decoded(key, source) for key in keys], source)


def _decoded(text: str, source: str) -> bytes:
    """Return the bytes of a key in either alphabet of base64."""
    with suppress(ValueError, binascii.Error):
        key = base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
        if len(key) == _KEY_BYTES:
            return key
    raise InfrastructureError(f"{source} has something in it that is not a key; a key is {_FORM}")


def _bound(prefix: str, place: Place) -> bytes:
    return json.dumps(["mesocosm.workspace_secret", prefix, *place]).encode()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a directory, so that of two processes that make a key one waits for the other."""
    try:
        import fcntl
    except ImportError:  # without file locks, atomic replacement of the file has to suffice
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    """Write a file that only this user may read; it has its old or its new content, whatever happens."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        partial.unlink(missing_ok=True)
