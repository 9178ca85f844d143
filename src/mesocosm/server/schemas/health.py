"""Documents of a server's health."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document


class Health(Document):
    """The health of a server and its store."""

    status: Literal["ok"]
    version: str
    store: str = Field(description="File or URL of the store, without a password.")
    kind: Literal["sqlite", "postgresql"]
    schema_revision: str
