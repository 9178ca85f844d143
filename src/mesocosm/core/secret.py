"""Which environment variables hold secrets."""

import re
from collections.abc import Mapping

_NAME = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|APIKEY|(^|_)(KEYS?|TOKENS?|AUTH|PAT|DSN|COOKIE)(_|$)", re.IGNORECASE
)
_PASSWORD_IN_URL = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable looks like a credential: by its name, or by a password in a URL (except proxies)."""
    if _NAME.search(name):
        return True
    return bool(_PASSWORD_IN_URL.search(value)) and not name.upper().endswith("_PROXY")


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without variables that look like credentials."""
    return {name: value for name, value in environment.items() if not is_secret(name, value)}
