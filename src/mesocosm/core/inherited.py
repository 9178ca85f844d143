"""Which of our variables a foreign program sees unless more are declared."""

from collections.abc import Iterable, Mapping

from mesocosm.core.failure import UsageError
from mesocosm.core.secret import is_secret

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("XDG_CACHE_HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
)
"""Variables that every program sees."""

CONNECTIONS = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Certificates and proxies: without them, TLS and installers fail where a company stands between."""

SOURCES = ("UV_", "PIP_", "HF_")
"""Beginnings of variables that say where packages and data sets come from and are kept."""


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a program sees of `environment`: places, language, certificates, proxies, where data come from.

    Of the last two kinds, those with a credential in their name or value are left out.
    """
    found = {name: environment[name] for name in INHERITED if name in environment}
    return found | {
        name: value
        for name, value in environment.items()
        if (name in CONNECTIONS or name.startswith(SOURCES)) and not is_secret(name, value) and "@" not in value
    }


def passed(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return further variables that a user names for a program. Raises UsageError if one is not set."""
    missing = [name for name in names if name not in environment]
    if missing:
        raise UsageError(f"pass_env names the variable {missing[0]}, which is not set here")
    return {name: environment[name] for name in names}
