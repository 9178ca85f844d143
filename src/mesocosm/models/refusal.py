"""Map an unsuccessful HTTP response to a cause, by its status and the server's error text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.http.retry_after import retry_after
from mesocosm.models.endpoint import without_credentials

CUT = 500
"""Number of characters of the server's text in a message; `detail` keeps ten times as many."""

_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum (context|input|prompt)|(prompt|input) is too long"
    r"|too many (input )?tokens|exceeds? the (available|maximum|model'?s) (context|number of tokens)"
    r"|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"context (?:length|window|size)(?: limit)?(?: is| of|:)? *\(?(\d[\d,_]*)", re.IGNORECASE)
# Not "exceeded your current quota": Google also uses it for per-minute limits.
_NO_MONEY = re.compile(
    r"insufficient[ _](quota|credits?|balance|funds)|credit balance is too low|payment required|account is not active"
    r"|billing[ _](hard[ _])?limit",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content[ _](filter|policy|management)|responsible ?ai|safety (policy|system)", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model[ _]not[ _]found|unknown model\b|no such model|invalid model (name|id)|not a valid model"
    r"|\bmodel:? [`'\"]?[^\s`'\"]+[`'\"]?,? (does not exist|((is|was) )?not found)",
    re.IGNORECASE,
)
_WRONG_KEY = re.compile(r"api[ _]key (not valid|expired)|API_KEY_INVALID", re.IGNORECASE)
_OWN_OUTPUT = re.compile(
    r"json_validate_failed|model produced output that does not match|failed to parse tool call arguments", re.IGNORECASE
)
"""What Groq and llama.cpp say when they refuse not the request but what their model wrote."""
_TAG = re.compile(r"<[^>]*>")
_WRONG_ADDRESS = frozenset({301, 302, 303, 307, 308, 404, 405, 410})
_UNKNOWN_FIELD = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not (allowed|permitted|available|implemented)"
    r"|extra (inputs|fields)|invalid (type|value) for|does not work with|only the default|deprecated"
    r"|may only be set|or unset",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Words:
    """The server's error text, with its code and the parameter that it names."""

    message: str
    code: str = ""
    param: str = ""

    @property
    def brief(self) -> str:
        """The message, cut to one line of an error."""
        line = " ".join(self.message.split())
        return line if len(line) <= CUT else f"{line[:CUT]}…"


def words(body: bytes) -> Words:
    """Return the server's own text from an error body of any shape."""
    try:
        return words_of(read_json(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body[: CUT * 10].decode("utf-8", "replace").strip()
        return Words(" ".join(_TAG.sub(" ", text).split()) if text.startswith("<") else text)


def words_of(value: Any) -> Words:
    """Return the server's own text from a decoded error in the shape of OpenAI, Ollama, FastAPI or Google."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return Words(str(value))
    error = value.get("error", value)
    if isinstance(error, str):
        return Words(error, _text(value.get("code")), _text(value.get("param")))
    if not isinstance(error, dict):
        error = value
    said = error.get("message") or error.get("detail") or value.get("message") or value.get("detail")
    text = said if isinstance(said, str) else msgspec.json.encode(said or value).decode()
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        text = f"{text}: {metadata['raw']}"
    return Words(text, _text(error.get("code")) or _text(error.get("type")), _text(error.get("param")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class RefusalContext:
    """An unsuccessful response together with the call that it answers."""

    subject: str
    url: str
    status: int
    said: Words
    header: Callable[[str], str | None]
    max_tokens: int
    variables: tuple[str, ...] = ()
    missing: str = ""

    def error(self) -> EpisodeError:
        """Return the error, with the cause, the place, the server's text and a remedy."""
        cause = self.cause()
        said = f': "{self.said.brief}"' if self.said.message else ""
        return EpisodeError(
            cause,
            f"{self.subject}: {self.url} answered {self.status}{said}; {self._remedy(cause)}",
            detail=self.said.message[: CUT * 10],
            retry_after=retry_after(self.header),
            overload=self.status in {429, 503, 529},
            status=self.status,
        )

    def cause(self) -> Cause:
        """Return the cause of the failure."""
        said = f"{self.said.code} {self.said.message}"
        status = self.status
        if status == 402 or (status in {400, 403, 429} and _NO_MONEY.search(said)):
            return Cause.MODEL_FORBIDDEN
        if status == 429:
            return Cause.RATE_LIMITED
        if _OWN_OUTPUT.search(said):
            # A retry may succeed.
            return Cause.MODEL_INVALID
        if status >= 500 or status in {408, 409, 425}:
            return Cause.MODEL_UNAVAILABLE
        if status in {401, 403} or (status == 400 and _WRONG_KEY.search(said)):
            return Cause.MODEL_FORBIDDEN
        if status in _WRONG_ADDRESS or (status in {400, 422} and _NO_MODEL.search(said)):
            return Cause.MODEL_MISSING
        if status in {400, 413, 422}:
            return self._cause_of_request(said)
        return Cause.MODEL_REJECTED

    def _cause_of_request(self, said: str) -> Cause:
        if _CONTEXT.search(said):
            limit = _LIMIT.search(said)
            too_greedy = limit is not None and self.max_tokens >= int(re.sub(r"\D", "", limit[1]))
            return Cause.MODEL_REJECTED if too_greedy else Cause.CONTEXT_OVERFLOW
        return Cause.REFUSED if _FILTER.search(said) else Cause.MODEL_REJECTED

    def _remedy(self, cause: Cause) -> str:
        if cause is Cause.MODEL_FORBIDDEN:
            if self.status in {402, 429} or _NO_MONEY.search(self.said.message):
                return "the account has no credit left; top it up at the provider"
            keys = f" in {' or '.join(self.variables)}" if self.variables else ""
            return f"check the key{keys} and what it may use"
        if cause is Cause.MODEL_MISSING:
            if self.status < 400:
                return (
                    f"it redirects to {without_credentials(self.header('location') or 'somewhere')}; "
                    "use the base URL behind that"
                )
            return self.missing or _REMEDIES[cause]
        # LiteLLM's proxy without its database answers a wrong key with 400.
        wrong = "the request itself is wrong; check the key, temperature, max_tokens and the extra settings"
        return _REMEDIES.get(cause, wrong)


_REMEDIES = {
    Cause.RATE_LIMITED: "fewer episodes at once or a higher limit at the provider help",
    Cause.MODEL_UNAVAILABLE: "the server has trouble; try again later or look into its log",
    Cause.MODEL_MISSING: "check the name of the model and the base URL",
    Cause.MODEL_INVALID: "the model did not keep to the form that was asked for; a larger one may",
    Cause.CONTEXT_OVERFLOW: "the conversation is longer than the model takes; a smaller history window helps",
    Cause.REFUSED: "the provider's content filter refused the prompt",
}


def objects_to(said: Words, field: str) -> bool:
    """Return whether a refusal of status 400 or 422 says that `field` is unsupported (rather than badly set)."""
    named = said.param.split(".")[0] == field or field in said.message or field.replace("_", " ") in said.message
    return named and bool(_UNKNOWN_FIELD.search(f"{said.code} {said.message}"))
