"""The state of a server as a document."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document


class Health(Document):
    """A server that answers, and the results that it answers from."""

    status: Literal["ok"]
    version: str
    store: str = Field(description="file or URL of the results, without a password")
    kind: Literal["sqlite", "postgresql"]
    schema_revision: str
