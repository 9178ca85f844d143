"""Validate domains: vow, scoring, address and size."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from mesocosm.core.failure import Problem, UsageError
from mesocosm.core.scoring import ScoringConfig, read_scoring
from mesocosm.core.vow import BindingVow, read_vow
from mesocosm.environments.domain import EnvironmentEndpoint
from mesocosm.http.public import check_public
from mesocosm.server.service import Service

MOST_BYTES = 2**20
"""Maximum size of a domain as JSON, in bytes."""

_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[]+)')
_HTTP = re.compile(r"https?://[^\s/?#]+", re.IGNORECASE)


def vow_problems(vow: BindingVow, domain_id: str) -> list[Problem]:
    """Return the errors in the vow of a domain."""
    _, problems = read_vow(vow.model_dump(mode="json", exclude_none=True))
    found = _errors(problems)
    if vow.domain_id not in ("", domain_id):
        message = f"is {vow.domain_id!r}, but the domain is {domain_id!r}"
        found.append(Problem("binding_vow.domain_id", message, "write the same id, or leave it out"))
    return found


def scoring_problems(scoring: ScoringConfig) -> list[Problem]:
    """Return the errors in a scoring."""
    return _errors(read_scoring(scoring.model_dump(mode="json", exclude_none=True))[1])


def endpoint_problems(service: Service, endpoint: EnvironmentEndpoint) -> list[Problem]:
    """Return the problems of the URL of an environment. Blocks on name resolution.

    A name may resolve to another address later, so runs check again and connect to the checked address.
    """
    url = (endpoint.url or "").strip()
    if not url:
        return []
    if not _HTTP.match(url):
        return [Problem("endpoint.url", "is not an http or https URL", "write for example https://example.org/env")]
    if service.settings.private_env_urls:
        return []
    try:
        check_public(url)
    except UsageError as error:
        return [Problem("endpoint.url", str(error))]
    return []


def size_problems(document: dict[str, Any]) -> list[Problem]:
    """Return the problem if a domain cannot be stored: it is too large, or cannot be encoded as JSON."""
    try:
        size = len(msgspec.json.encode(document))
    except (ValueError, OverflowError, RecursionError) as error:
        return [Problem("", f"cannot be kept as JSON: {error}", "leave out odd characters and huge numbers")]
    return [] if size <= MOST_BYTES else [Problem("", f"has {size} bytes as JSON; {MOST_BYTES} are the most")]


def check(problems: Iterable[Problem]) -> None:
    """Raise RequestValidationError (422) with all problems of a request body, if there are any."""
    from fastapi.exceptions import RequestValidationError

    listed = [
        {
            "type": "value_error",
            "loc": ("body", *_location(problem.path)),
            "msg": f"{problem.message}; {problem.fix}" if problem.fix else problem.message,
        }
        for problem in problems
    ]
    if listed:
        raise RequestValidationError(listed)


def _errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def _location(path: str) -> tuple[str | int, ...]:
    """Return the parts of a path such as `binding_vow.techniques[0].version`."""
    return tuple(int(index) if index else quoted or name for quoted, index, name in _PART.findall(path))
