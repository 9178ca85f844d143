"""Models, health and metrics of a server."""

from typing import Literal

from sqlalchemy import text

from mesocosm import __version__
from mesocosm.server.model_check import checked_model
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.health import Health
from mesocosm.server.schemas.model import ModelCheck, ModelList, OfferedModel
from mesocosm.server.schemas.system import HealthDocument
from mesocosm.server.settings import ModelEntry
from mesocosm.store.revision import HEAD


class SystemInfo(GrantedObject):
    """Models, health and metrics of the server."""

    def models(self) -> ModelList:
        """Return the models of the catalogue, with the reason if one is unavailable at the moment.

        Those of some workspaces are shown to their members only.
        """
        offers = [(offer, self._workspaces(offer.entry)) for offer in self._service.catalogue.offers()]
        return ModelList(
            models=[
                OfferedModel(
                    name=offer.entry.name,
                    title=offer.entry.title,
                    provider=offer.provider,
                    guests=offer.entry.guests,
                    full_bench=offer.entry.full_bench,
                    available=not offer.reason,
                    reason=offer.reason,
                    workspaces=found,
                )
                for offer, found in offers
                if found is None or found or self._viewer.sees_all
            ]
        )

    def check_model(self, name: str) -> ModelCheck:
        """Ask a model one word for a run in no workspace, and return what came of it.

        Raises Refusal as for such a run, and 403 for guests.
        """
        if not self._viewer.caller.member:
            raise Refusal(403, "models are checked for members; sign in")
        return checked_model(self._service, self._service.catalogue.resolve(name, self._viewer.caller))

    def _workspaces(self, entry: ModelEntry) -> list[str] | None:
        """Return the caller's workspaces that may use a model; None if every run may."""
        if not entry.workspaces:
            return None
        named = self._store.workspaces.get
        known = ((workspace_id, named(workspace_id)) for workspace_id in self._viewer.roles)
        return [
            one_id
            for one_id, found in known
            if one_id in entry.workspaces or (found is not None and found.name in entry.workspaces)
        ]

    def ping(self) -> HealthDocument:
        """Return `ok`. Raises InfrastructureError if the store does not answer."""
        self._store.database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())
        return HealthDocument(status="ok", version=__version__)

    def health(self) -> Health:
        """Return the location, kind and schema revision of the store. Raises Refusal 403 unless all runs are visible.

        Raises InfrastructureError if the store does not answer.
        """
        if not self._viewer.sees_all:
            raise Refusal(403, "only administrators may do that")
        self._store.runs.list(limit=1)
        place = discreet(self._store.place)
        kind: Literal["postgresql", "sqlite"] = "postgresql" if "://" in place else "sqlite"
        return Health(status="ok", version=__version__, store=place, kind=kind, schema_revision=HEAD)

    def metrics(self, authorization: str, *, on_this_machine: bool) -> bytes:
        """Return the metrics in the text format of Prometheus.

        Raises Refusal 401 or 403 unless the caller is an administrator, is on this machine, or has the workers' secret.
        """
        if not (self._viewer.sees_all or on_this_machine or self._is_worker(authorization)):
            status = 401 if self._viewer.caller.anonymous else 403
            raise Refusal(status, "only administrators and programs on this machine may read metrics")
        return self._service.metrics.text()

    def _is_worker(self, authorization: str) -> bool:
        try:
            self._service.check_worker(authorization)
        except Refusal:
            return False
        return True
