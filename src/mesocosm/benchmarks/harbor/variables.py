"""Variables of a task that the host provides: `${NAME}` and `${NAME:-default}`."""

import re
from collections.abc import Mapping

_TEMPLATE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}", re.DOTALL)
SHORTEST_SECRET = 4
"""Shorter values are words like `1` or `on`: hiding them would make a trace unreadable."""


def resolved(env: Mapping[str, str], host: Mapping[str, str]) -> dict[str, str]:
    """Return variables with the values of the host. Those that it lacks are left out; see `lacking`."""
    found: dict[str, str] = {}
    for name, value in env.items():
        template = _TEMPLATE.fullmatch(value)
        if template is None:
            found[name] = value
        elif template[1] in host:
            found[name] = host[template[1]]
        elif template[2] is not None:
            found[name] = template[2]
    return found


def lacking(env: Mapping[str, str], host: Mapping[str, str]) -> list[str]:
    """Return the names of variables that the host must have and has not."""
    templates = filter(None, map(_TEMPLATE.fullmatch, env.values()))
    return [found[1] for found in templates if found[2] is None and found[1] not in host]


def host_values(env: Mapping[str, str], host: Mapping[str, str]) -> set[str]:
    """Return the values that come from the host, which must not be recorded."""
    templates = filter(None, map(_TEMPLATE.fullmatch, env.values()))
    values = {host[found[1]] for found in templates if found[1] in host}
    return {value for value in values if len(value) >= SHORTEST_SECRET}
