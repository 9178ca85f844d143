"""OpenAI embeddings, which are only forwarded."""

from collections.abc import Iterator, Mapping

import msgspec

from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import Protocols
from mesocosm.proxy import api
from mesocosm.proxy.api import Asked, Fields, Known, MalformedRequest
from mesocosm.proxy.completions import ChatAssembler, openai_error, read_usage


class Embeddings:
    """Implements api.Api for `/embeddings`."""

    protocol: Protocols = "openai"
    path = "/embeddings"
    owned: frozenset[str] = frozenset()

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return no fields: embeddings are not sampled."""
        return {}

    def translatable(self, asked: Asked) -> bool:
        """Return False: chat models cannot return embeddings."""
        return False

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request; strings are recorded as messages, token lists only as a digest. Raises MalformedRequest."""
        data = api.values(fields, ("input",))
        if "input" not in fields:
            raise MalformedRequest("'input' is missing")
        given = api.value_in(fields["input"])
        texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        messages = tuple(Message("user", text) for text in texts if isinstance(text, str))
        whole = isinstance(given, str) or len(messages) == len(texts)
        return Asked(api.call(self.path, data, () if whole else [fields["input"]]), messages, data)

    def ask(self, asked: Asked, settings: ModelSettings) -> ModelRequest:
        """Raise MalformedRequest: chat models cannot return embeddings."""
        raise MalformedRequest(
            f"the run's model {settings.name} makes no embeddings; name a model of a server that speaks the OpenAI "
            "protocol, as PROVIDER/MODEL@http://HOST:PORT/v1"
        )

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return a reply with the usage only; the vectors are not recorded."""
        if not isinstance(data.get("data"), list | msgspec.Raw):
            return None
        return ModelReply("", usage=read_usage(data.get("usage")), model=api.text_of(data.get("model")))

    def assembler(self) -> ChatAssembler:
        """Return an unused assembler: embeddings are not streamed."""
        return ChatAssembler()

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return nothing: see `ask`."""
        return {}

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return nothing: see `ask`."""
        return iter(())

    def error(self, status: int, message: str, code: str = "") -> Fields:
        """Return an error."""
        return openai_error(status, message, code)

    def error_event(self, message: str) -> bytes:
        """Return nothing: embeddings are not streamed."""
        return b""
