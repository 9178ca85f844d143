"""What a platform answers when it will not do something."""

from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import MesocosmError


class Refusal(MesocosmError):
    """A request that is understood and refused: status, words for people, and where needed a document or headers.

    `detail` says what happened, on which object, and what to do next.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        document: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail: str | Mapping[str, Any] = document if document is not None else detail
        self.headers = dict(headers or {})
