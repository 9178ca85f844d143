"""Services beside model and environment, such as tool servers, that go away and come back."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from tests.mcp.double import UrlServer, url_server

from mesocosm.agents.tool_servers import ToolServers
from mesocosm.core.failure import Cause, ServiceError
from mesocosm.core.message import ToolCall
from mesocosm.core.ports import Context, Observer
from mesocosm.core.run import Limits, RunStatus
from mesocosm.mcp.message import ToolDefinition
from mesocosm.mcp.offer import PinnedServer, ToolOffer

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

SERVICE = "MCP server http://tools.test/mcp"


class Notices(Observer):
    """Keeps what people are told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, message: str) -> None:
        self.said.append(message)


class Service:
    """Does not answer so many times after `before` answers; then it does."""

    def __init__(self, failing: float, before: int = 0, *, away: bool = True) -> None:
        self.failing = failing
        self.before = before
        self.away = away
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.before:
            self.before -= 1
        elif self.failing:
            self.failing -= 1
            raise ServiceError(Cause.ENVIRONMENT_UNREACHABLE, f"{SERVICE} cannot be reached", away=self.away)
        return "found"


def walking(service: Service) -> Callable[[Context], Awaitable[None]]:
    """Return an agent that asks a service before its first step."""

    async def play(context: Context) -> None:
        await context.reset()
        assert await context.reach(SERVICE, service) == "found"
        await context.step("end")

    return play


@pytest.mark.parametrize("parallel", [1, 4])
async def test_a_service_that_is_away_for_a_while_costs_no_episode(lab: "Lab", parallel: int) -> None:
    service, notices = Service(failing=7, before=2), Notices()
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(walking(service)), count=6, parallel=parallel), notices)
    assert [run.status, run.counts.completed] == [RunStatus.FINISHED, 6]
    assert service.asked == 6 + 7
    assert f"{SERVICE} has not answered since" in notices.said[0]
    assert f"{SERVICE} answers again" in notices.said[-1]


async def test_one_that_stays_away_stops_the_run_with_the_rest_pending(lab: "Lab") -> None:
    service = Service(failing=float("inf"), before=2)
    limits = Limits(outage_seconds=0.01)
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(walking(service)), count=6, limits=limits))
    assert [run.status, run.counts.completed, run.counts.pending] == [RunStatus.STOPPED, 2, 4]
    assert run.error.startswith(f"{SERVICE} has not answered since")

    service.failing = 0
    resumed = await lab.resume(run.id, limits=Limits())
    assert [resumed.status, resumed.counts.completed] == [RunStatus.FINISHED, 6]


async def test_what_it_may_have_done_is_done_again_by_a_new_episode_alone(lab: "Lab") -> None:
    service = Service(failing=1, away=False)
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(walking(service)), count=3))
    # The whole episode is played again: one call more.
    assert service.asked == 4
    assert [run.status, run.counts.completed] == [RunStatus.FINISHED, 3]


async def test_its_failures_are_not_held_against_the_environment(lab: "Lab") -> None:
    service, notices = Service(failing=5, before=1, away=False), Notices()
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(walking(service)), count=7), notices)
    assert run.counts.completed
    assert not [said for said in notices.said if "answer" in said]


@pytest.fixture
async def tools() -> AsyncIterator[UrlServer]:
    async with url_server() as server:
        yield server


def calling(tools: UrlServer, times: int, between: Callable[[int], None]) -> Callable[[Context], Awaitable[None]]:
    """Return an agent that calls a tool some times; `between` happens before each call."""
    offer = ToolOffer((PinnedServer(tools.url, tools=(ToolDefinition("twice", parameters={"type": "object"}),)),))

    async def play(context: Context) -> None:
        async with ToolServers(context, offer) as servers:
            await context.reset()
            for number in range(times):
                between(number)
                assert (await servers.call(ToolCall("c", "twice", {"n": number}))).text == str(2 * number)
            await context.step("end")

    return play


async def test_a_call_waits_for_a_server_that_is_away(lab: "Lab", tools: UrlServer) -> None:
    def between(number: int) -> None:
        tools.away = 3 if number == 1 else 0

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(calling(tools, 3, between)), count=1))
    assert [run.status, [one["arguments"]["n"] for one in tools.calls]] == [RunStatus.FINISHED, [0, 1, 2]]


async def test_a_server_that_was_started_again_is_met_anew_if_nothing_was_called(lab: "Lab", tools: UrlServer) -> None:
    def between(number: int) -> None:
        if not number:
            forget(tools)

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(calling(tools, 2, between)), count=1))
    assert [run.status, len(tools.calls)] == [RunStatus.FINISHED, 2]


async def test_an_episode_whose_session_was_lost_is_played_anew(lab: "Lab", tools: UrlServer) -> None:
    lost = iter([False, True])

    def between(number: int) -> None:
        if next(lost, False):
            forget(tools)

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(calling(tools, 2, between)), count=1))
    assert [run.status, [one["arguments"]["n"] for one in tools.calls]] == [RunStatus.FINISHED, [0, 0, 1]]


async def test_an_episode_that_loses_each_session_stays_pending(lab: "Lab", tools: UrlServer) -> None:
    def between(number: int) -> None:
        if number:
            forget(tools)

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(calling(tools, 2, between)), count=1))
    assert [run.status, run.counts.pending] == [RunStatus.STOPPED, 1]
    assert "has ended the session" in run.error


def forget(tools: UrlServer) -> None:
    """Let a server lose its sessions, as its restart does."""
    tools.sessions = {f"old-{name}": version for name, version in tools.sessions.items()}
