"""Parse certificates when a connection needs them, not when a context is made. Standard library only.

HTTP clients make an `ssl.SSLContext` each, and parsing the certificates of all authorities takes 16 to 20 ms and 0.9 MB
of memory. A workflow that makes a client for each row talks to a model on loopback, without TLS. Contexts share
nothing: what a program changes in one changes no other.
"""

import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALLEST = 32 * 1024
"""Files with fewer bytes are loaded at once: one authority takes a tenth of a millisecond."""

_PENDING = "_mesocosm_pending"

_Step = Callable[[ssl.SSLContext], None]
_Context = ssl.SSLContext
_plain_load, _plain_default = _Context.load_verify_locations, _Context.set_default_verify_paths
_lock = threading.RLock()
_loaded: set[tuple[object, ...]] = set()
"""Files that were loaded before without an error, with their state then. Others are loaded at once, to raise errors."""


class _PendingContext(_Context):
    """The class of a context while certificates are missing in it. Whatever needs or shows them loads them first."""

    def _wrap_socket(self, *args: Any, **options: Any) -> Any:
        return _complete(self)._wrap_socket(*args, **options)  # type: ignore[attr-defined]  # noqa: SLF001

    def _wrap_bio(self, *args: Any, **options: Any) -> Any:
        return _complete(self)._wrap_bio(*args, **options)  # type: ignore[attr-defined]  # noqa: SLF001

    def get_ca_certs(self, *args: Any, **options: Any) -> Any:
        return _complete(self).get_ca_certs(*args, **options)

    def cert_store_stats(self) -> dict[str, int]:
        return _complete(self).cert_store_stats()


class LateCertificates:
    """Delays the loading of certificates in this process while at least one user needs it."""

    def __init__(self) -> None:
        self._users = 0

    def begin(self) -> None:
        """Start delaying. Does nothing if other code has replaced `ssl.SSLContext`, as truststore and gevent can."""
        self._users += 1
        if self._users == 1 and _Context.__module__ == "ssl":
            for name, ours in _OURS.items():
                setattr(_Context, name, ours)

    def end(self) -> None:
        """Stop delaying after the last user. Contexts with missing certificates still load them when needed."""
        self._users -= 1
        if not self._users:
            for name, ours in _OURS.items():
                if vars(_Context).get(name) is ours:
                    delattr(_Context, name)


late_certificates = LateCertificates()


def _load(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
    state = None if cadata is not None else _state(cafile, capath)
    if state in _loaded and _delayed(context, lambda it: _plain_load(it, cafile, capath)):
        return
    _plain_load(context, cafile, capath, cadata)
    if state is not None:
        _loaded.add(state)


def _load_default(context: ssl.SSLContext) -> None:
    # OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR: their values at this moment count.
    found = ssl.get_default_verify_paths()

    def load(it: ssl.SSLContext) -> None:
        if ssl.get_default_verify_paths() == found:
            _plain_default(it)
        elif found.cafile or found.capath:
            _plain_load(it, found.cafile, found.capath)

    if not _delayed(context, load):
        _plain_default(context)


def _state(cafile: Any, capath: Any) -> tuple[object, ...] | None:
    """Return what identifies a large file and its content; None for anything else."""
    if cafile is None:
        return None
    try:
        found = Path(os.fsdecode(cafile)).stat()
    except (OSError, TypeError, ValueError):
        return None
    if found.st_size < SMALLEST:
        return None
    return str(cafile), str(capath), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _delayed(context: ssl.SSLContext, step: _Step) -> bool:
    """Keep a step for later; return False for contexts of servers and of derived classes, which may load elsewhere."""
    if context.protocol is not ssl.PROTOCOL_TLS_CLIENT or type(context) not in {_Context, _PendingContext}:
        return False
    with _lock:
        context.__dict__.setdefault(_PENDING, []).append(step)
        context.__class__ = _PendingContext
    return True


def _complete(context: ssl.SSLContext) -> ssl.SSLContext:
    """Load what is missing and return the context. Raises what loading raises, each time until it succeeds."""
    with _lock:
        pending: list[_Step] = context.__dict__.get(_PENDING, [])
        while pending:
            pending[0](context)
            del pending[0]
        context.__dict__.pop(_PENDING, None)
        context.__class__ = _Context
    return context


_OURS = {"load_verify_locations": _load, "set_default_verify_paths": _load_default}
