"""Documents of the secrets of a workspace. No answer has a value."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError

Scope = Literal["workspace", "personal"]
"""`workspace`: for every run of the workspace, set by its admins. `personal`: for the runs of one member only."""

NAME_PATTERN = "^[A-Z][A-Z0-9_]*$"
NAME_LENGTH = 128
VALUE_BYTES = 65_536

RESERVED_PREFIXES = ("_OSMOSIS_", "MESOCOSM_", "PYTHON", "LD_", "DYLD_", "LC_", "PIP_", "UV_", "XDG_")
RESERVED = frozenset(
    {
        *("PATH", "HOME", "PWD", "SHELL", "TERM", "TMP", "TEMP", "TMPDIR", "USER", "LOGNAME", "HOSTNAME", "LANG"),
        *("LANGUAGE", "TZ", "ENV", "IFS", "BASH_ENV", "GCONV_PATH", "LOCPATH", "VIRTUAL_ENV", "ROLLOUT_PORT"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    }
)
"""Variables by which a run's own processes find programs, libraries, files and the model proxy."""

SecretName = Annotated[str, Field(pattern=NAME_PATTERN, max_length=NAME_LENGTH)]


class SecretInput(BaseModel):
    """The value of a secret."""

    model_config = ConfigDict(hide_input_in_errors=True, json_schema_extra={"examples": [{"value": "sk-…"}]})

    value: SecretStr = Field(description="1 byte to 64 KiB of UTF-8 text; may have several lines. It is never shown.")

    @field_validator("value")
    @classmethod
    def _usable(cls, value: SecretStr) -> SecretStr:
        if fault := value_fault(value):
            raise PydanticCustomError("secret_value", fault)
        return value


class WorkspaceSecret(BaseModel):
    """A secret of a workspace, without its value."""

    name: str = Field(description="Name of the variable that a run gets.", examples=["OPENAI_API_KEY"])
    scope: Scope = Field(description="`personal` secrets are the caller's own and take precedence in their runs.")
    created_by: str | None = Field(description="User name of who set it first; null if that account is gone.")
    created_at: datetime = Field(description="When it was set first.")
    updated_at: datetime = Field(description="When its value was last set.")
    last_used_at: datetime | None = Field(description="When a run last got it; null: never.")
    usable: bool = Field(description="False if the server lacks the key that encrypted it; set it again.")


class MissingSecrets(BaseModel):
    """Which secrets a run of the caller would lack."""

    missing: list[str] = Field(description="Those of the names that have no value for the caller, in the given order.")


def name_fault(name: str) -> str:
    """Return what is wrong with the name of a secret, empty if nothing. The name is not repeated unless it is one."""
    if not re.fullmatch(NAME_PATTERN, name) or len(name) > NAME_LENGTH:
        # Not repeated: it may be a value instead of a name.
        return f"that is not a name for a secret: capital letters, digits and _, a letter first, at most {NAME_LENGTH}"
    if name in RESERVED or name.startswith(RESERVED_PREFIXES):
        return f"{name} is a variable that a run's own processes need; choose another name"
    return ""


def value_fault(value: SecretStr) -> str:
    """Return what is wrong with a value, without repeating it; empty if nothing."""
    text = value.get_secret_value()
    if not text.strip():
        return "is empty"
    if "\0" in text:
        return "has a NUL character, which no variable can hold"
    if not text.strip("*"):
        return "has nothing but asterisks, as a program shows a secret that it hides"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        # The exception has the whole value in it.
        return "has halves of surrogate pairs, which are no characters"
    return f"is larger than {VALUE_BYTES // 1024} KiB" if size > VALUE_BYTES else ""
