"""The environment variables that a foreign process sees."""

import os
import re
from collections.abc import Mapping

# Whatever the console of the author, or no console at all, an adapter must be able to print.
PYTHON = {"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}

_SECRET_NAME = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|APIKEY|(^|_)(KEYS?|TOKENS?|AUTH|PAT|DSN|COOKIE)(_|$)", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a credential: by its name, or by a password inside a URL (proxies excepted)."""
    if _SECRET_NAME.search(name):
        return True
    return bool(_SECRET_VALUE.search(value)) and not name.upper().endswith("_PROXY")


def without_secrets(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment (ours by default) without what looks like a credential."""
    given = os.environ if environment is None else environment
    return {name: value for name, value in given.items() if not is_secret(name, value)}
