"""Which kind of enclosure this machine offers."""

import shutil
from typing import Literal, cast

from mesocosm.core.failure import UsageError
from mesocosm.sandboxes.bubblewrap import available

Kind = Literal["bubblewrap", "docker", "plain"]


def choose(sandbox: str, unsafe: bool) -> Kind:
    """Return the kind that the setting `sandbox` (auto, bubblewrap, docker, plain) means on this machine.

    `auto` is bubblewrap. Raises UsageError that says what to install where it does not work, and for `plain`, which
    gives foreign programs all rights of ours, unless `unsafe`.
    """
    if sandbox == "plain" and not unsafe:
        raise UsageError(
            "the sandbox `plain` gives foreign programs all rights of the worker; "
            "choose bubblewrap or docker, or allow it with --unsafe-sandbox"
        )
    if sandbox == "docker" and shutil.which("docker") is None:
        raise UsageError("the sandbox `docker` needs the command docker, which is not found; install it")
    if sandbox in {"auto", "bubblewrap"}:
        works = available()
        if not works:
            raise UsageError(f"foreign programs cannot be confined here: {works.reason}")
        return "bubblewrap"
    if sandbox not in {"docker", "plain"}:
        raise UsageError(f"there is no sandbox {sandbox!r}; choose auto, bubblewrap, docker or plain")
    return cast(Kind, sandbox)
