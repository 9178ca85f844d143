"""Documents of the credentials of a repository. No answer has one."""

import re
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mesocosm.server.schemas.document import Document

CredentialKind = Literal["token", "deploy-key"]
USERNAME = "x-access-token"
"""The user name that goes with a token by default: hosts that check tokens alone ignore it."""
_LONGEST_TOKEN, _LONGEST_KEY, _LONGEST_HOST_KEYS = 4_096, 16_384, 32_768


class GitCredentialInput(BaseModel):
    """What gives access to a private repository."""

    model_config = ConfigDict(hide_input_in_errors=True, json_schema_extra={"examples": [{"token": "glpat-…"}]})

    token: SecretStr | None = Field(
        default=None,
        description="Token that may read the repository over https, and may set commit statuses. It is never shown.",
    )
    username: str = Field(
        default=USERNAME,
        pattern=r"^[^\s:]{1,200}$",
        description="User name that goes with the token, for hosts that ask for a certain one.",
    )
    deploy_key: SecretStr | None = Field(
        default=None, description="Private SSH key without a passphrase, for a repository with an SSH address."
    )
    host_keys: str = Field(
        default="",
        max_length=_LONGEST_HOST_KEYS,
        description="Lines of a known_hosts file with the keys of the host, as ssh-keyscan prints them. "
        "Not needed if the operator of the server has them in /etc/ssh/ssh_known_hosts.",
    )

    @field_validator("token")
    @classmethod
    def _one_word(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        text = value.get_secret_value().strip()
        if not text or len(text) > _LONGEST_TOKEN or not text.isprintable() or " " in text:
            raise PydanticCustomError(
                "token", "is not a token: one word of at most {most} characters", {"most": _LONGEST_TOKEN}
            )
        return SecretStr(text)

    @field_validator("deploy_key")
    @classmethod
    def _private_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                public_key(value)
            except ValueError as error:
                raise PydanticCustomError("deploy_key", str(error)) from None
        return value

    @field_validator("host_keys")
    @classmethod
    def _known_hosts(cls, value: str) -> str:
        for number, line in enumerate(value.splitlines(), 1):
            words = line.split()
            if words and not line.startswith("#") and len(words) < 3 + words[0].startswith("@"):
                raise PydanticCustomError(
                    "host_keys", "line {line} is not of a known_hosts file: HOST KEYTYPE KEY", {"line": number}
                )
        return value

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.token is None and self.deploy_key is None:
            raise PydanticCustomError("credential", "give a token or a deploy_key")
        return self


class GitCredentialDocument(Document):
    """A credential of a repository, without its value."""

    kind: CredentialKind = Field(description="`token` for https and commit statuses, `deploy-key` for SSH.")
    created_by: str | None = Field(description="User name of who set it first; null if that account is gone.")
    updated_at: datetime = Field(description="When it was last set.")
    last_used_at: datetime | None = Field(description="When a worker last got it; null: never.")
    usable: bool = Field(description="False if the server lacks the key that encrypted it; set it again.")


def public_key(private: SecretStr) -> str:
    """Return the public half of a private key, as a Git host takes it. Raises ValueError, which never repeats it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    text = private.get_secret_value().strip()
    data = re.sub(r"\r\n?", "\n", text).encode() + b"\n"
    if len(data) > _LONGEST_KEY or not data.startswith(b"-----BEGIN "):
        raise ValueError(_NO_KEY)
    openssh = data.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    try:
        key = (serialization.load_ssh_private_key if openssh else serialization.load_pem_private_key)(data, None)
        found = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    except TypeError:
        raise ValueError("has a passphrase; make a key without one: ssh-keygen -t ed25519 -N '' -f FILE") from None
    except (ValueError, AttributeError, UnsupportedAlgorithm):
        raise ValueError(_NO_KEY) from None
    return found.decode()


_NO_KEY = "is not a private SSH key; make one with: ssh-keygen -t ed25519 -N '' -f FILE"
