"""What routes work on: the store of the server that answers."""

from typing import Annotated

from fastapi import Depends, Request

from mesocosm.server.runs.shelf import Shelf
from mesocosm.store import Store


async def store_of(request: Request) -> Store:
    """Return the store of the server that answers this request.

    It is a coroutine so that no thread is taken for it.
    """
    store = request.app.state.service.store
    assert isinstance(store, Store)
    return store


Results = Annotated[Store, Depends(store_of)]
"""A parameter of a route that needs the store."""


async def shelf_of(request: Request) -> Shelf:
    """Return the catalogue of the server that answers this request."""
    shelf = request.app.state.shelf
    assert isinstance(shelf, Shelf)
    return shelf


Shelved = Annotated[Shelf, Depends(shelf_of)]
"""A parameter of a route that needs the catalogue."""
