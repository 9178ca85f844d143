"""Request fields that a model does not support: remembered, left out from then on, and reported once."""

import logging
from typing import Any

from mesocosm.models.refusal import Words, objects_to

_log = logging.getLogger(__name__)
_OPTIONAL = ("temperature", "top_p")
_STRUCTURED = (
    "response_format",
    "response format",
    "json_schema",
    "structured output",
    "output_config.format",
    "output_format",
    "response mime type",
    "response_json_schema",
    "response_schema",
    "responsejsonschema",
)


class UnsupportedParameters:
    """The fields that are not sent to one model, and the name of the field for its token limit."""

    def __init__(self, subject: str, limit: str = "max_tokens") -> None:
        self.limit = limit
        self._subject = subject
        self._refused: set[str] = set()

    @property
    def structured(self) -> bool:
        """Whether structured output has not been rejected yet."""
        return "response_format" not in self._refused

    def apply(self, body: dict[str, Any]) -> None:
        """Remove from a request the fields that the model does not support, and rename the token limit."""
        for field in self._refused:
            body.pop(field, None)
        if self.limit != "max_tokens" and "max_tokens" in body:
            body[self.limit] = body.pop("max_tokens")

    def make(self, status: int, said: Words, body: dict[str, Any]) -> bool:
        """Return whether the server rejected a field of `body` that can be left out or renamed; if so, remember it."""
        # llama.cpp's server answers 500 to a request that fails its validation.
        if status not in {400, 422} and not (status == 500 and "validation error" in said.message.lower()):
            return False
        if "max_tokens" in body and "max_completion_tokens" in said.message and objects_to(said, "max_tokens"):
            if self.limit != "max_completion_tokens":
                self.limit = "max_completion_tokens"
                _log.warning("%s takes max_completion_tokens instead of max_tokens; that is sent now", self._subject)
            return True
        if {"temperature", "top_p"} <= body.keys() and "cannot both be specified" in said.message:
            # At temperature 1 it has no effect, so top_p is the one that was meant.
            return self._leave_out("temperature" if body["temperature"] == 1 else "top_p", said)
        if "response_format" in body and _about_structure(said):
            return self._leave_out("response_format", said)
        for field in _OPTIONAL:
            if field in body and objects_to(said, field):
                return self._leave_out(field, said)
        return False

    def _leave_out(self, field: str, said: Words) -> bool:
        if field not in self._refused:
            self.without(field, said.brief)
        return True

    def without(self, field: str, reason: str) -> None:
        """Leave a field out from now on, with a warning."""
        self._refused.add(field)
        _log.warning('%s does not take %s and is asked without it: "%s"', self._subject, field, reason)


def _about_structure(said: Words) -> bool:
    """Return whether a refusal is about structured output; an unsupported schema cannot be fixed from here."""
    text = f"{said.param} {said.message}".lower()
    return any(word in text for word in _STRUCTURED)
