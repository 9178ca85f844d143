"""The models that a server offers, with the model and the key that each is served by.

API keys are in environment variables of the workers, named in the operator's settings, or encrypted in the database if
an administrator set them on the running server; they are never in specs, in traces or in responses.
"""

import difflib
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.model import ModelName
from mesocosm.models.catalogue import is_local
from mesocosm.models.endpoint import GENERAL_KEY, assign_keys, check_url, without_credentials
from mesocosm.models.prices import Price, assign_prices, price
from mesocosm.server.auth.principal import Principal
from mesocosm.server.key_ring import read_keys
from mesocosm.server.managed_models import ManagedModel, open_key
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import ModelEntry, Settings
from mesocosm.store.workspaces import Workspace

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

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that a server offers. `reason` is why it cannot be run now, empty if it can.

    `managed` is what an administrator set on the running server, None for a model of the settings alone; `base` is the
    entry of the settings, None for a model that an administrator added.
    """

    entry: ModelEntry
    reason: str = ""
    managed: ManagedModel | None = None
    base: ModelEntry | None = None

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self.entry.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A requested model: the requested name, the name for the spec, and its entry in the catalogue."""

    asked: str
    name: str
    entry: ModelEntry | None = None

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
        if self.entry is not None and self.entry.price is not None:
            return _price_of(self.entry)
        parsed = ModelName.parse(self.name)
        return price(parsed, local=is_local(parsed), elsewhere=bool(parsed.base_url))

    def most_parallel(self, wanted: int) -> int:
        """Return how many episodes of a run with it may go on at once, at most `wanted`."""
        most = None if self.entry is None else self.entry.parallel
        return wanted if most is None else min(wanted, most)


class Catalogue:
    """The models that a server offers. `managed` returns what administrators set on the running server."""

    def __init__(self, settings: Settings, managed: Callable[[], Sequence[ManagedModel]] = lambda: ()) -> None:
        self._settings = settings
        self._managed = managed

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """The operator's list, if it is empty the standard models with keys in this process' environment; with what
        administrators changed and added.
        """
        return tuple(offer.entry for offer in self._listed())

    def offers(self) -> tuple[Offer, ...]:
        """Return all models with the reason why one cannot be run now."""
        return tuple(
            Offer(offer.entry, self._missing(offer.entry, offer.managed), offer.managed, offer.base)
            for offer in self._listed()
        )

    def full_bench(self) -> tuple[str, ...]:
        """Return the names of the models of a batch run that can be run now."""
        chosen = (one for one in self.offers() if one.entry.full_bench and not one.entry.workspaces)
        return tuple(offer.entry.name for offer in chosen if not offer.reason)

    def resolve(self, name: str, caller: Principal, workspace: Workspace | None = None) -> ServedModel:
        """Return the model of a name, for a run in a workspace if one is given.

        Raises Refusal: 422 for an unknown model (with similar names) or an unavailable one, 403 if guests may not use
        it, or not this workspace.
        """
        asked = _older(name.strip())
        offer = self._offer(asked)
        if offer is None:
            raise Refusal(422, f"model {name[:200]!r} cannot be run here{self._near(asked)}")
        entry = offer.entry
        if caller.guest and not entry.guests:
            raise Refusal(403, f"model {asked} is for members; guests may use {self._for_guests()}")
        if not _usable_in(entry, workspace):
            where = "outside of a workspace" if workspace is None else f"in the workspace {workspace.name!r}"
            raise Refusal(
                403, f"model {asked} may not be used {where}: administrators of the server chose others for it"
            )
        if missing := self._missing(entry, offer.managed):
            raise Refusal(422, f"model {asked} cannot be run now: {missing}; `mesocosm models` shows those that can")
        return ServedModel(asked, _behind(entry, asked), entry)

    def costs(self, asked: str) -> bool:
        """Return whether runs of a model count against budgets. Those of a model no longer offered do."""
        offer = self._offer(asked)
        if offer is None:
            return True
        model = ServedModel(asked, _behind(offer.entry, asked), offer.entry)
        return model.priced and not model.free

    def assign_keys(self) -> None:
        """Send to each model the key that its entry names, and to an address without one no key of a provider; charge
        for it what its entry says.

        For processes that ask the models, before each run: administrators may have changed them. An entry without a key
        and without an address keeps the provider's own variable. A key that an administrator set becomes a variable of
        this process, so that it is redacted like the others.
        """
        keys, prices, opened = dict[str, str](), dict[str, Price](), self._keys()
        for offer in self._listed():
            entry, managed = offer.entry, offer.managed
            served = ModelName.parse(entry.served_as or entry.name)
            own = "" if managed is None else managed.variable
            if own in opened:
                os.environ[own] = opened[own]
                keys[str(served)] = own
            elif managed is not None and served.base_url and not entry.key:
                # An address that an administrator chose gets no key of the operator's.
                os.environ.pop(own, None)
                keys[str(served)] = own
            elif entry.key or served.base_url:
                keys[str(served)] = entry.key or GENERAL_KEY
            if entry.price is not None:
                prices[str(served)] = _price_of(entry)
        assign_keys(keys)
        assign_prices(prices)

    def _keys(self) -> Mapping[str, str]:
        """Return the keys that administrators set, by variable. One that cannot be decrypted is logged and left out."""
        sealed = [one for one in self._managed() if one.sealed]
        found = {}
        for one in sealed:
            try:
                found[one.variable] = open_key(read_keys(self._settings), one).get_secret_value()
            except InfrastructureError as error:
                _log.warning("model %s is asked without its key: %s", one.entry.name, error)
        return found

    def _listed(self) -> list[Offer]:
        """Return the models of the settings as administrators changed them, then those that they added."""
        managed = {one.entry.name: one for one in self._managed()}
        found = []
        for base in self._settings.models or _standard():
            own = managed.pop(base.name, None)
            found.append(Offer(base if own is None else _changed(base, own), managed=own, base=base))
        return [*found, *(Offer(one.entry, managed=one) for one in managed.values())]

    def _offer(self, asked: str) -> Offer | None:
        listed = self._listed()
        exact = next((offer for offer in listed if offer.entry.name == asked), None)
        if exact is not None or not _harmless(asked):
            return exact
        wild = (offer for offer in listed if offer.entry.name.endswith("*"))
        return next((offer for offer in wild if asked.startswith(offer.entry.name[:-1])), None)

    def _missing(self, entry: ModelEntry, managed: ManagedModel | None) -> str:
        if entry.disabled:
            return "administrators of the server disabled it"
        # Without local workers the keys are in the environment of workers on other machines.
        if not self._settings.workers or not entry.key or (managed is not None and managed.sealed):
            return ""
        return "" if os.environ.get(entry.key) else "its key is not set on this server"

    def _near(self, asked: str) -> str:
        names = [entry.name for entry in self.entries if not entry.workspaces and not entry.disabled]
        close = difflib.get_close_matches(asked[:200], names, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ";"
        return f"{hint} `mesocosm models` shows those that can"

    def _for_guests(self) -> str:
        names = [entry.name for entry in self.entries if entry.guests]
        return ", ".join(names[:8]) or "none"


def _changed(base: ModelEntry, managed: ManagedModel) -> ModelEntry:
    """Return an entry of the settings as an administrator changed it. Another address does not get its key."""
    same = managed.entry.served_as == base.served_as
    return managed.entry.model_copy(update={"key": base.key if same and not managed.sealed else ""})


def _price_of(entry: ModelEntry) -> Price:
    assert entry.price is not None
    return Price(entry.price.input, entry.price.output, as_of="")


def _usable_in(entry: ModelEntry, workspace: Workspace | None) -> bool:
    if not entry.workspaces:
        return True
    return workspace is not None and not {workspace.id, workspace.name}.isdisjoint(entry.workspaces)


def _standard() -> tuple[ModelEntry, ...]:
    listed: Sequence[tuple[str, bool]] = [*((name, True) for name in _FULL), *((name, False) for name in _MORE)]
    with_keys = ((name, full, _set_key(name.partition("/")[0])) for name, full in listed)
    return (*_BUILTIN, *(ModelEntry(name=name, key=key, full_bench=full) for name, full, key in with_keys if key))


def _set_key(provider: str) -> str:
    names = _KEYS.get(provider, (f"{provider.upper()}_API_KEY",))
    return next((name for name in names if os.environ.get(name)), "")


def _older(name: str) -> str:
    return f"gemini/{name.removeprefix('google/')}" if name.startswith("google/gemini-") else name


def name_fault(name: str) -> str:
    """Return what is wrong with the name of a model that an administrator adds; empty if nothing is."""
    bare = name.removesuffix("*")
    if name.count("*") > (bare != name) or not _harmless(bare + ("x" if bare != name else "")):
        return "must read provider/name, with letters, digits and ._:/@+- in the name; a * may end it"
    return ""


def served_fault(served: str) -> str:
    """Return what is wrong with the model that another stands for; empty if nothing is. Files of the server are."""
    try:
        parsed = ModelName.parse(served.replace("*", "x"))
        if parsed.base_url:
            check_url(parsed.base_url, served)
    except UsageError as error:
        return str(error)
    if parsed.file or parsed.provider in {"replay", "human"}:
        return "reads a file or a terminal of the server; name a model of a provider, or one at an address"
    if parsed.base_url and without_credentials(parsed.base_url) != parsed.base_url:
        return "has a password, a query or a fragment in its address; leave them out, and set its key"
    return ""


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
