"""Documents of the models that a server offers."""

from pydantic import BaseModel, Field


class OfferedModel(BaseModel):
    """A model available for runs. If `name` ends with `*`, any text is accepted in its place."""

    name: str = Field(description="what to ask for, `provider/name`", examples=["openai/gpt-4o-mini"])
    title: str = Field(default="", description="what people call it")
    provider: str = Field(description="who answers")
    guests: bool = Field(default=False, description="whether guests may use it")
    full_bench: bool = Field(default=False, description="whether it takes part in full benches")
    available: bool = Field(default=True, description="whether it can be run now")
    reason: str = Field(default="", description="why it cannot")


class ModelList(BaseModel):
    """The models of a server."""

    models: list[OfferedModel] = Field(description="all of them, in the order of the operator")
