"""The caller's own saved views of the list of runs."""

from collections.abc import Sequence

from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.saved_view import SavedViewDocument
from mesocosm.store.saved_views import SavedView


class OwnSavedViews(GrantedObject):
    """Saved views of the caller. Those of a laptop belong to its store."""

    def list(self) -> Sequence[SavedViewDocument]:
        """Return the views, oldest first; callers without an account have none."""
        if self._viewer.caller.anonymous and not self._viewer.local:
            return []
        return [SavedViewDocument.of(view) for view in self._store.saved_views.of(self._owner)]

    def save(self, name: str, search: str) -> SavedViewDocument:
        """Save a view, or replace the one with its name. Raises Refusal 401 without an account, UsageError."""
        self._check()
        view = SavedView(name.strip(), search.removeprefix("?"))
        self._store.saved_views.save(self._owner, view)
        return SavedViewDocument.of(view)

    def delete(self, name: str) -> None:
        """Delete a view. Raises Refusal 401 without an account, UnknownName."""
        self._check()
        self._store.saved_views.delete(self._owner, name)

    @property
    def _owner(self) -> str:
        return "" if self._viewer.local else self._viewer.caller.actor

    def _check(self) -> None:
        if self._viewer.caller.anonymous and not self._viewer.local:
            raise Refusal(401, "log in to save views; the address of the page holds all of a view too")
