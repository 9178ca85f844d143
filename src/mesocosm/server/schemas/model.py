"""Documents of the models that a server offers."""

from pydantic import BaseModel, Field


class OfferedModel(BaseModel):
    """A model available for runs. If `name` ends with `*`, any text is accepted in its place."""

    name: str = Field(description="Name in requests, `provider/name`.", examples=["openai/gpt-4o-mini"])
    title: str = Field(default="", description="Display name.")
    provider: str = Field(description="Provider of the model.")
    guests: bool = Field(default=False, description="Whether guests may use it.")
    full_bench: bool = Field(default=False, description="Whether batch runs include it.")
    available: bool = Field(default=True, description="Whether it can be run now.")
    reason: str = Field(default="", description="Why it cannot be run; empty if it can.")


class ModelList(BaseModel):
    """The models of a server."""

    models: list[OfferedModel] = Field(description="All models, in the operator's order.")
