"""What a model turned out not to take: remembered, left out from then on, said once."""

import logging
from typing import Any

from mesocosm.models.refusal import Words, objects_to

_log = logging.getLogger(__name__)
_OPTIONAL = ("temperature", "top_p")
_STRUCTURED = ("response_format", "response format", "json_schema", "structured output")


class UnsupportedParameters:
    """The fields that are not sent to one model, and the name that its limit of tokens goes by."""

    def __init__(self, subject: str, limit: str = "max_tokens") -> None:
        self.limit = limit
        self._subject = subject
        self._refused: set[str] = set()

    @property
    def structured(self) -> bool:
        """Whether the model has not refused structured output."""
        return "response_format" not in self._refused

    def apply(self, body: dict[str, Any]) -> None:
        """Take out of a request what the model does not take."""
        for field in self._refused:
            body.pop(field, None)
        if self.limit != "max_tokens" and "max_tokens" in body:
            body[self.limit] = body.pop("max_tokens")

    def make(self, status: int, said: Words, body: dict[str, Any]) -> bool:
        """Whether the server refused `body` for a field that can be left out or renamed; if so it is remembered."""
        # llama.cpp's server answers 500 where what it was sent breaks its rules.
        if status not in {400, 422} and not (status == 500 and "validation error" in said.message.lower()):
            return False
        if "max_tokens" in body and "max_completion_tokens" in said.message and objects_to(said, "max_tokens"):
            if self.limit != "max_completion_tokens":
                self.limit = "max_completion_tokens"
                _log.warning("%s takes max_completion_tokens instead of max_tokens; that is sent now", self._subject)
            return True
        if "response_format" in body and _about_structure(said):
            return self._leave_out("response_format", said)
        for field in _OPTIONAL:
            if field in body and objects_to(said, field):
                return self._leave_out(field, said)
        return False

    def _leave_out(self, field: str, said: Words) -> bool:
        if field not in self._refused:
            self._refused.add(field)
            _log.warning('%s does not take %s and is asked without it: "%s"', self._subject, field, said.brief)
        return True


def _about_structure(said: Words) -> bool:
    """Whether a refusal speaks of structured output; what a server dislikes in a schema cannot be mended from here."""
    text = f"{said.param} {said.message}".lower()
    return any(word in text for word in _STRUCTURED)
