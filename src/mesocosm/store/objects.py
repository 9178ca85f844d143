"""Large content outside of the database: an object store, keyed by digest."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mesocosm.core.failure import InfrastructureError, UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

URL_VARIABLE = "MESOCOSM_BLOB_URL"
SMALL = 4096
"""Compressed content up to this many bytes stays in the database: a request would cost more than it saves."""
AT_ONCE = 16
"""Requests at a time. One after the other, a bucket that answers in 20 ms takes fifty objects a second."""
SCHEMES = ("file", "memory", "s3", "gs", "az")

_memory: dict[str, Any] = {}
_lock = threading.Lock()


class Objects:
    """An object store for content, keyed by digest. Methods block and are thread-safe."""

    def __init__(self, store: Any, shown: str) -> None:
        self._store = store
        self.shown = shown
        self._pool = ThreadPoolExecutor(AT_ONCE, "mesocosm-objects")

    def put(self, digest: str, data: bytes) -> None:
        """Store `data`. A digest always has the same content, so repeating the call only renews its age."""
        import obstore

        self._said(lambda: obstore.put(self._store, _path(digest), data), "written")

    def put_all(self, contents: Mapping[str, bytes]) -> None:
        """Store contents by digest, several at a time. Raises InfrastructureError if one cannot be written."""
        if len(contents) < 2:
            for digest, data in contents.items():
                self.put(digest, data)
            return
        for _ in self._pool.map(self.put, contents, contents.values()):
            pass

    def get(self, digest: str) -> bytes:
        """Return content. Raises UnknownName if it does not exist, InfrastructureError if the store cannot be read."""
        import obstore

        try:
            return bytes(self._said(lambda: obstore.get(self._store, _path(digest)).bytes(), "read"))
        except FileNotFoundError as error:
            raise UnknownName(
                f"blob {digest} is not in the object store {self.shown}, where the database says it is; "
                "was it moved, or is this another one?"
            ) from error

    def delete(self, digests: Sequence[str]) -> None:
        """Delete contents, many with one request where the store can; those that do not exist are left out."""
        import obstore

        try:
            self._said(lambda: obstore.delete(self._store, [_path(digest) for digest in digests]), "changed")
        except FileNotFoundError:
            # Which one it is, and whether the others are gone, is not said.
            if len(digests) > 1:
                for digest in digests:
                    self.delete([digest])

    def older_than(self, seconds: float) -> Iterator[str]:
        """Yield the digests of content written more than `seconds` ago."""
        import obstore

        before = time.time() - seconds
        listed = self._said(lambda: iter(obstore.list(self._store, prefix="blobs")), "listed")
        while (page := self._said(lambda: next(listed, None), "listed")) is not None:
            for found in page:
                if found["last_modified"].timestamp() < before:
                    yield found["path"].rpartition("/")[2]

    def _said(self, work: "Callable[[], Any]", what: str) -> Any:
        """Return the result of `work`. Raises InfrastructureError; FileNotFoundError passes through."""
        from obstore.exceptions import BaseError

        try:
            return work()
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            words = str(error).partition("\n")[0]
            raise InfrastructureError(
                f"the object store {self.shown} cannot be {what} ({words}); check its URL, its keys, and that it is up"
            ) from error


def open_objects(url: str) -> Objects:
    """Open the object store at a URL: file:///…, s3://…, gs://…, az://…, or memory:// (inside this process).

    Credentials come from each provider's usual environment variables. Raises UsageError for another URL, one that
    cannot be opened, or a missing package.
    """
    shown = _shown(url)
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise UsageError(f"{shown!r} is no URL of an object store; it begins with {', '.join(SCHEMES)}, then ://")
    try:
        import obstore.store
    except ImportError as error:
        raise UsageError("an object store needs a package; install it with: pip install 'mesocosm[objects]'") from error
    if parts.scheme == "memory":
        with _lock:
            return Objects(_memory.setdefault(url, obstore.store.MemoryStore()), shown)
    try:
        if parts.scheme == "file":
            return Objects(obstore.store.LocalStore.from_url(url, mkdir=True), shown)
        return Objects(obstore.store.from_url(url), shown)
    except (obstore.exceptions.BaseError, ValueError, OSError) as error:
        raise UsageError(f"the object store {shown} cannot be opened: {str(error).partition(chr(10))[0]}") from error


def _path(digest: str) -> str:
    return f"blobs/{digest[:2]}/{digest}"


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
