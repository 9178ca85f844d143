"""Models that administrators added or changed while a server runs, with their keys encrypted."""

import hashlib

import msgspec
from pydantic import SecretStr, ValidationError

from mesocosm.core.failure import InfrastructureError
from mesocosm.server.key_ring import KeyRing, Place
from mesocosm.server.settings import ModelEntry
from mesocosm.store import Store
from mesocosm.store.models import ModelRow


class ManagedModel(msgspec.Struct, frozen=True):
    """A model as administrators set it; `sealed` is its encrypted key, empty without one of its own."""

    entry: ModelEntry
    sealed: str = ""

    @property
    def variable(self) -> str:
        """The variable in which a worker's process holds the key; its name says that it is one, so it is redacted."""
        return f"MESOCOSM_MODEL_{hashlib.sha256(self.entry.name.encode()).hexdigest()[:12].upper()}_API_KEY"


def managed_models(store: Store) -> tuple[ManagedModel, ...]:
    """Return the models, oldest first. Those that a newer version wrote and this one cannot read are left out."""
    return tuple(found for row in store.models.list() if (found := _read(row)) is not None)


def save_model(store: Store, model: ManagedModel) -> None:
    """Store a model, in place of an earlier one with its name. Raises UsageError if there are too many."""
    entry = msgspec.json.encode(model.entry.model_dump(mode="json")).decode()
    store.models.save(ModelRow(model.entry.name, entry, model.sealed))


def seal_key(ring: KeyRing, name: str, value: SecretStr) -> str:
    """Return the key of a model, encrypted for it alone."""
    return ring.encrypt(value, _place(name))


def open_key(ring: KeyRing | None, model: ManagedModel) -> SecretStr:
    """Return the key of a model. Raises InfrastructureError if it cannot be decrypted."""
    if ring is None:
        raise InfrastructureError(
            f"the key of model {model.entry.name} cannot be read: this process has no key of the server's secrets; "
            "docs/operate.md says how hosts share it"
        )
    return ring.decrypt(model.sealed, _place(model.entry.name))


def seal_again(store: Store, ring: KeyRing) -> int:
    """Encrypt the keys of all models with the newest key; return how many. Unreadable ones stay as they are."""
    count = 0
    for model in managed_models(store):
        if model.sealed and not model.sealed.startswith(ring.prefix) and ring.opens(model.sealed):
            sealed = seal_key(ring, model.entry.name, open_key(ring, model))
            save_model(store, msgspec.structs.replace(model, sealed=sealed))
            count += 1
    return count


def _place(name: str) -> Place:
    return ("", "models", name)


def _read(row: ModelRow) -> ManagedModel | None:
    try:
        return ManagedModel(ModelEntry.model_validate_json(row.entry), row.sealed)
    except ValidationError:
        return None
