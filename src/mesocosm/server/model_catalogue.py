"""The models that a server offers, with the model and the key that each is served by.

API keys are in environment variables of the workers, named in the operator's settings; they are never in the database,
in specs, in traces or in responses.
"""

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName
from mesocosm.models.catalogue import is_local
from mesocosm.models.endpoint import GENERAL_KEY, assign_keys
from mesocosm.models.prices import Price, price
from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import ModelEntry, Settings

_BUILTIN = (
    ModelEntry(name="builtin/random", title="Random actions", guests=True),
    ModelEntry(name="builtin/empty", title="Empty answers", guests=True),
    ModelEntry(name="builtin/oracle", title="The environment's own best actions", guests=True),
)
_FULL = ("anthropic/claude-sonnet-4-6", "openai/gpt-4o", "gemini/gemini-3.1-flash-lite")
_MORE = (
    "openai/gpt-4o-mini",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-2.5-flash-lite",
    "gemini/gemini-3.1-flash-lite-preview",
    "gemini/gemini-3.5-flash",
    "gemini/gemini-flash-latest",
    "gemini/gemini-flash-lite-latest",
)
_KEYS = {"gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
_ASKED = re.compile(r"[A-Za-z][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
"""Valid names. None of them can refer to a file or URL of the caller's choice."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that a server offers. `reason` is why it cannot be run now, empty if it can."""

    entry: ModelEntry
    reason: str = ""

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self.entry.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A requested model: the requested name, and the name for the spec."""

    asked: str
    name: str

    @property
    def priced(self) -> bool:
        """Whether the price of its tokens is known."""
        return self.price is not None

    @property
    def free(self) -> bool:
        """Whether its tokens cost nothing."""
        known = self.price
        return known is not None and known.free

    @property
    def price(self) -> Price | None:
        """The price of its tokens, None if it is unknown."""
        parsed = ModelName.parse(self.name)
        return price(parsed, local=is_local(parsed), elsewhere=bool(parsed.base_url))


class Catalogue:
    """The models that a server offers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """The operator's list; if it is empty, the standard models with keys in this process' environment."""
        return self._settings.models or _standard()

    def offers(self) -> tuple[Offer, ...]:
        """Return all models with the reason why one cannot be run now."""
        return tuple(Offer(entry, self._missing(entry)) for entry in self.entries)

    def full_bench(self) -> tuple[str, ...]:
        """Return the names of the models of a batch run that can be run now."""
        return tuple(offer.entry.name for offer in self.offers() if offer.entry.full_bench and not offer.reason)

    def resolve(self, name: str, caller: Principal) -> ServedModel:
        """Return the model of a name.

        Raises Refusal: 422 for an unknown model (with similar names) or an unavailable one, 403 if guests may not use
        it.
        """
        asked = _older(name.strip())
        entry = self._entry(asked)
        if entry is None:
            raise Refusal(422, f"model {name[:200]!r} cannot be run here{self._near(asked)}")
        if caller.guest and not entry.guests:
            raise Refusal(403, f"model {asked} is for members; guests may use {self._for_guests()}")
        if missing := self._missing(entry):
            raise Refusal(422, f"model {asked} cannot be run now: {missing}; `mesocosm models` shows those that can")
        return ServedModel(asked, _behind(entry, asked))

    def costs(self, asked: str) -> bool:
        """Return whether runs of a model count against budgets. Those of a model no longer offered do."""
        entry = self._entry(asked)
        if entry is None:
            return True
        model = ServedModel(asked, _behind(entry, asked))
        return model.priced and not model.free

    def assign_keys(self) -> None:
        """Send to each model the key that its entry names, and to an address without one no key of a provider.

        For workers. An entry without a key and without an address keeps the provider's own variable.
        """
        assigned = {}
        for entry in self.entries:
            served = ModelName.parse(entry.served_as or entry.name)
            if entry.key or served.base_url:
                assigned[str(served)] = entry.key or GENERAL_KEY
        assign_keys(assigned)

    def _entry(self, asked: str) -> ModelEntry | None:
        exact = next((entry for entry in self.entries if entry.name == asked), None)
        if exact is not None or not _harmless(asked):
            return exact
        return next(
            (entry for entry in self.entries if entry.name.endswith("*") and asked.startswith(entry.name[:-1])), None
        )

    def _missing(self, entry: ModelEntry) -> str:
        # Without local workers the keys are in the environment of workers on other machines.
        if not self._settings.workers or not entry.key:
            return ""
        return "" if os.environ.get(entry.key) else "its key is not set on this server"

    def _near(self, asked: str) -> str:
        names = [entry.name for entry in self.entries]
        close = difflib.get_close_matches(asked[:200], names, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ";"
        return f"{hint} `mesocosm models` shows those that can"

    def _for_guests(self) -> str:
        names = [entry.name for entry in self.entries if entry.guests]
        return ", ".join(names[:8]) or "none"


def _standard() -> tuple[ModelEntry, ...]:
    listed: Sequence[tuple[str, bool]] = [*((name, True) for name in _FULL), *((name, False) for name in _MORE)]
    with_keys = ((name, full, _set_key(name.partition("/")[0])) for name, full in listed)
    return (*_BUILTIN, *(ModelEntry(name=name, key=key, full_bench=full) for name, full, key in with_keys if key))


def _set_key(provider: str) -> str:
    names = _KEYS.get(provider, (f"{provider.upper()}_API_KEY",))
    return next((name for name in names if os.environ.get(name)), "")


def _older(name: str) -> str:
    return f"gemini/{name.removeprefix('google/')}" if name.startswith("google/gemini-") else name


def _harmless(asked: str) -> bool:
    if _ASKED.fullmatch(asked) is None or ".." in asked or "//" in asked:
        return False
    try:
        parsed = ModelName.parse(asked)
    except UsageError:
        return False
    return not parsed.base_url and not parsed.file and parsed.provider not in {"replay", "human"}


def _behind(entry: ModelEntry, asked: str) -> str:
    served = entry.served_as or entry.name
    if not entry.name.endswith("*"):
        return served
    rest = asked[len(entry.name) - 1 :]
    return served.replace("*", rest, 1) if "*" in served else served
