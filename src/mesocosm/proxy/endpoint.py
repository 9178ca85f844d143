"""The endpoint `proxy`: a loopback server through which external programs call the model of their episode."""

import asyncio
import logging

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.proxy import ModelRecorder, ProxyAddress, ProxyEndpoint, Reachable
from mesocosm.proxy import asking, listing
from mesocosm.proxy.address import address
from mesocosm.proxy.api import Api, Asked, MalformedRequest, call, read_fields, values
from mesocosm.proxy.client import ProxyClient, ProxyClients, TokenFactory
from mesocosm.proxy.completions import ChatCompletions
from mesocosm.proxy.embeddings import Embeddings
from mesocosm.proxy.messages import Messages
from mesocosm.proxy.passing import Passing
from mesocosm.proxy.responses import Responses
from mesocosm.proxy.server import ClientDisconnected, ProxyReply, ProxyRequest, ProxyServer
from mesocosm.proxy.texts import TextCompletions

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)
_BYTES_PER_TOKEN = 4

CHAT: Api = ChatCompletions()
MESSAGES: Api = Messages()
APIS: dict[str, Api] = {api.path: api for api in (CHAT, TextCompletions(), Responses(), Embeddings(), MESSAGES)}
COUNT = "/messages/count_tokens"
OFFERED = ", ".join([*(f"POST /v1{path}" for path in APIS), "GET /v1/models"])


def open_endpoint(model: Model, settings: ModelSettings) -> ProxyEndpoint:
    """Return the endpoint of a run; the server starts with the first address."""
    return Proxy(model, settings)


class Proxy:
    """Implements core.proxy.ProxyEndpoint."""

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        self._settings = settings
        self._passing = Passing(model, settings) if isinstance(model, Reachable) else None
        self._clients = ProxyClients()
        self._tokens = TokenFactory()
        self._server: ProxyServer | None = None
        self._url = ""
        self._starting = asyncio.Lock()

    async def connect(self, recorder: ModelRecorder) -> ProxyAddress:
        """Open an address. Raises EpisodeError."""
        async with self._starting:
            if self._server is None:
                server = ProxyServer(self._handle)
                try:
                    self._url = await server.start()
                except OSError as error:
                    raise EpisodeError(
                        Cause.PROXY_FAILED, f"the model proxy cannot listen on 127.0.0.1: {error}"
                    ) from error
                self._server = server
        client = ProxyClient(address(self._url, self._tokens.new(), self._settings), recorder)
        self._clients.add(client)
        return client.address

    async def disconnect(self, address: ProxyAddress) -> None:
        """Close an address and cancel its calls."""
        client = self._clients.remove(address)
        if client is not None and client.tasks:
            tasks = tuple(client.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop the server."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop()
        if self._passing is not None:
            await self._passing.close()

    async def _handle(self, request: ProxyRequest, reply: ProxyReply) -> None:
        api = _api(request)
        try:
            await self._answer(api, request, reply)
        except MalformedRequest as error:
            await reply.send(400, _encode(api.error(400, str(error))))
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001 - the program must get an error response
            _log.exception("the model proxy failed at %s %s", request.method, request.path)
            if not reply.started:
                message = f"the model proxy failed: {type(error).__name__}"
                await reply.send(500, _encode(api.error(500, message)), asking.FINAL)

    async def _answer(self, api: Api, request: ProxyRequest, reply: ProxyReply) -> None:
        client = self._clients.find(request.headers)
        if client is None:
            message = "this key opens nothing: it is wrong, or its episode is over"
            await reply.send(401, _encode(api.error(401, message, "invalid_api_key")), asking.FINAL)
            return
        path = _path(request)
        if request.method == "GET" and (path == "/models" or path.startswith("/models/")):
            await self._models(path, api, client, request, reply)
        elif request.method == "POST" and path == COUNT and (passing := self._passing_to(api, client)) is not None:
            await passing.plain("POST", path, request, reply, api)
        elif request.method == "POST" and path in APIS:
            task = asyncio.current_task()
            assert task is not None
            client.tasks.add(task)
            try:
                await self._converse(client, api, request, reply)
            finally:
                client.tasks.discard(task)
        else:
            message = f"nothing is at {request.method} {request.path}; offered are {OFFERED}"
            await reply.send(404, _encode(api.error(404, message, "not_found")), asking.FINAL)

    async def _converse(self, client: ProxyClient, api: Api, request: ProxyRequest, reply: ProxyReply) -> None:
        passing = self._passing_to(api, client)
        asked = _read(api, request.body, client, lenient=passing is not None)
        expected = len(request.body) // _BYTES_PER_TOKEN + asked.expected_tokens
        async with client.recorder.admitted(expected) as refusal:
            if refusal:
                await reply.send(403, _encode(api.error(403, refusal, "budget_exceeded")), asking.FINAL)
            elif passing is None or not await passing.converse(api, asked, client.recorder, request, reply):
                await asking.answer(api, asked, client.recorder, self._settings, reply)

    async def _models(self, path: str, api: Api, client: ProxyClient, request: ProxyRequest, reply: ProxyReply) -> None:
        passing = self._passing_to(api, client)
        if passing is not None:
            await passing.plain("GET", path, request, reply, api)
        else:
            await listing.answer(path, self._settings, api, reply)

    def _passing_to(self, api: Api, client: ProxyClient) -> Passing | None:
        """Return the forwarder to the model's server, or None if a call cannot be forwarded."""
        passing = self._passing
        return passing if passing is not None and passing.takes(api, client.recorder) else None


def _path(request: ProxyRequest) -> str:
    """Return the path without `/v1`: clients send it once, twice or not at all, and add trailing slashes."""
    names = [name for name in request.path.split("/") if name]
    while names and names[0] == "v1":
        del names[0]
    return "".join(f"/{name}" for name in names)


def _read(api: Api, body: bytes, client: ProxyClient, *, lenient: bool) -> Asked:
    """Return the parsed request. If `lenient`, messages that we cannot read are only left out of the record.

    Lenient mode is for forwarded calls, which the server may understand anyway. Raises MalformedRequest.
    """
    fields = read_fields(body)
    try:
        return api.read(fields, client.known)
    except MalformedRequest:
        if not lenient:
            raise
    said = ("messages", "input", "prompt", "system", "instructions")
    data = values(fields, said)
    unread = call(api.path, data, [fields[name] for name in said if name in fields])
    return Asked(unread, (), data, ("messages that cannot be read",))


def _api(request: ProxyRequest) -> Api:
    """Return the API of a request: by its path, or else by the headers of its client."""
    path = _path(request)
    if path.startswith(MESSAGES.path) or (path not in APIS and "anthropic-version" in request.headers):
        return MESSAGES
    return APIS.get(path, CHAT)
