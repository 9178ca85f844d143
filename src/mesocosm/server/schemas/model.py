"""Documents of the models that a server offers."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mesocosm.server.schemas.document import Document


class ModelPrice(BaseModel):
    """Price of a model in USD per million tokens."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0, le=1e6, description="For tokens of prompts.")
    output: float = Field(ge=0, le=1e6, description="For tokens of replies.")


class OfferedModel(BaseModel):
    """A model available for runs. If `name` ends with `*`, any text is accepted in its place."""

    name: str = Field(description="Name in requests, `provider/name`.", examples=["openai/gpt-4o-mini"])
    title: str = Field(default="", description="Display name.")
    provider: str = Field(description="Provider of the model.")
    guests: bool = Field(default=False, description="Whether guests may use it.")
    full_bench: bool = Field(default=False, description="Whether batch runs include it.")
    available: bool = Field(default=True, description="Whether it can be run now.")
    reason: str = Field(default="", description="Why it cannot be run; empty if it can.")
    workspaces: list[str] | None = Field(
        default=None,
        description="IDs of the caller's workspaces whose runs may use it; null: any run may.",
    )


class ModelList(BaseModel):
    """The models of a server."""

    models: list[OfferedModel] = Field(description="All models, in the operator's order.")


class ModelInput(BaseModel):
    """A model as an administrator sets it. Fields that are left out have their defaults, except `key`."""

    model_config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={"examples": [{"served_as": "openai/llama-3.1-8b@http://10.0.0.7:8000/v1", "key": "sk-…"}]},
    )

    served_as: str = Field(
        default="",
        max_length=1_000,
        description="Model to ask instead, with `@URL` for an address; empty: the model of this name.",
    )
    key: SecretStr | None = Field(
        default=None,
        max_length=10_000,
        description="API key, which is stored encrypted and never shown; empty removes it, null keeps it. Another "
        "`served_as` does not keep it.",
    )
    title: str = Field(default="", max_length=200, description="Display name.")
    guests: bool = Field(default=False, description="Whether guests may use it.")
    full_bench: bool = Field(default=False, description="Whether batch runs include it.")
    price: ModelPrice | None = Field(default=None, description="Its price; null: that of the price table, if any.")
    parallel: int | None = Field(
        default=None, ge=1, le=10_000, description="Maximum number of concurrent episodes of a run; null: no limit."
    )
    workspaces: list[str] = Field(
        default=[], max_length=200, description="IDs or names of the only workspaces that may use it; empty: all may."
    )
    disabled: bool = Field(default=False, description="Whether nobody may run it.")


class ManagedModelWorkspace(Document):
    """A workspace that may use a model."""

    id: str = Field(description="ID; empty if the settings name a workspace that does not exist.")
    name: str


class ManagedModelDocument(Document):
    """A model of the server as administrators see it. Its key is never shown."""

    name: str
    served_as: str = Field(description="Model that is asked instead; empty: the model of this name.")
    title: str
    provider: str
    guests: bool
    full_bench: bool
    disabled: bool
    available: bool = Field(description="Whether it can be run now.")
    reason: str = Field(description="Why it cannot be run; empty if it can.")
    source: Literal["settings", "changed", "added"] = Field(
        description="`settings`: of the operator's settings, or a standard one; `changed`: of these, and changed here; "
        "`added`: added here."
    )
    key: Literal["stored", "variable", "none"] = Field(
        description="Where its key is: stored here, in a variable of the workers, or nowhere: that of its provider is "
        "used, if the workers have it."
    )
    variable: str = Field(description="Name of that variable; empty without one.")
    price: ModelPrice | None = Field(description="What it costs per million tokens; null if that is unknown.")
    own_price: bool = Field(description="Whether the price was set for this model, and is not of the price table.")
    parallel: int | None
    workspaces: list[ManagedModelWorkspace] = Field(description="The only workspaces that may use it; empty: all may.")


class ManagedModelList(Document):
    """The models of the server as administrators see them."""

    models: list[ManagedModelDocument]


class ModelCheckInput(BaseModel):
    """A model to ask one word."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"model": "openai/gpt-5-mini", "workspace": "research"}]}
    )

    model: str = Field(min_length=1, max_length=300, description="Name of a model of `GET /api/models`.")
    workspace: str = Field(
        default="", max_length=200, description="ID or name of the workspace whose run would ask it; empty: your own."
    )


class ModelCheck(Document):
    """Whether a model answers. It is asked at most once a minute."""

    model: str
    answers: bool
    reply: str = Field(description="Beginning of what it replied; empty if it did not.")
    error: str = Field(description="Why it does not answer, and what to do; empty if it does.")
    seconds: float = Field(description="How long it took.")
    tokens: int = Field(description="Tokens that this cost.")
    asked_at: datetime
