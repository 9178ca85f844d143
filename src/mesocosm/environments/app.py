"""The HTTP application of an environment server: routes, documentation, status codes."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, get_type_hints

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError

from mesocosm.environments.episode_host import IDLE_SECONDS, EpisodeHost, RequestRefused
from mesocosm.environments.sdk import BaseEnv

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_OBSERVATION = {"data": {"board": "…"}, "content_type": "application/json"}
_EXAMPLES: dict[str, dict[str, Any]] = {
    "/reset": {**_OBSERVATION, "system_prompt": None},
    "/step": {
        "observation": _OBSERVATION,
        "reward": 0.0,
        "terminated": False,
        "truncated": False,
        "info": {},
        "system_prompt": None,
    },
    "/close": {},
    "/render": {"data": "…", "content_type": "text/plain"},
    "/oracle": {"action": "up"},
}


class _BytesRoute(APIRoute):
    """A route with an endpoint that takes the parsed body and returns the bytes of the response.

    FastAPI's generic handling, which supports any signature, makes a request a third more expensive.
    """

    def get_route_handler(self) -> _Handler:
        parse = get_type_hints(self.endpoint)["body"].model_validate_json
        endpoint = self.endpoint

        async def answer(request: Request) -> Response:
            try:
                body = parse(await request.body())
            except ValidationError as error:
                problems = error.errors(include_url=False, include_input=False)  # inputs may not be JSON
                raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in problems]) from None
            return Response(await endpoint(body), media_type="application/json")

        return answer


def create_app(env_class: type[BaseEnv], *, idle_seconds: float = IDLE_SECONDS) -> FastAPI:
    """Return the application that serves episodes of `env_class`, with its documentation at /docs.

    Episodes without a call for `idle_seconds` are closed when another episode starts.
    """
    host = EpisodeHost(env_class, idle_seconds=idle_seconds)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await host.close_all()

    app = FastAPI(title=f"Environment {host.name}", lifespan=lifespan)
    app.add_exception_handler(RequestRefused, _refuse)
    app.add_api_route("/health", host.health, methods=["GET"])
    app.router.route_class = _BytesRoute
    for path, example in _EXAMPLES.items():
        app.add_api_route(
            path,
            getattr(host, path[1:]),
            methods=["POST"],
            response_model=None,
            responses=_responses(path, example),
        )
    return app


async def _refuse(_request: Request, refusal: Exception) -> Response:
    if not isinstance(refusal, RequestRefused):
        raise refusal
    return JSONResponse({"detail": refusal.detail}, refusal.status)


def _responses(path: str, example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the responses of a route."""
    answers: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {"example": example}}}}
    if path != "/close":
        answers[500] = {"description": "The environment failed; `detail` says how and where."}
    if path in {"/step", "/render", "/oracle"}:
        answers[404] = {"description": "No such episode is live."}
    if path == "/oracle":
        answers[501] = {"description": "The environment offers no oracle."}
    return answers
