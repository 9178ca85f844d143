"""Documents of saved views."""

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document


class SavedViewDocument(Document):
    """A named search of the list of runs: filters, order, columns, grouping; or a group of a run (`run` and `said`)."""

    name: str
    search: str = Field(description="Query of the page's address, without the question mark.")


class SavedViewInput(BaseModel):
    """The search that a view holds."""

    model_config = ConfigDict(extra="forbid")

    search: str = Field(
        max_length=4_000,
        examples=["benchmark=gsm8k&sort=-score"],
        description="Query of the page's address, without the question mark.",
    )
