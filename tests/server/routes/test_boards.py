"""Leaderboards, gallery and techniques, over runs that were recorded."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.score import Metric, MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.engine.metrics import measure
from mesocosm.server.auth import passwords
from mesocosm.server.leaderboards import grouping
from mesocosm.server.leaderboards.boards import leaderboards_of
from mesocosm.server.workers.cleanup import clean
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow
from mesocosm.store.leaderboards import BoardScope
from mesocosm.store.run_requests import DECLARED, RunRequest

if TYPE_CHECKING:
    from tests.server.conftest import Records
    from tests.server.routes.conftest import Hosted

PROMPT = "swordfish, be brief"


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords at next to no cost: nobody signs in here."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    monkeypatch.setattr(passwords, "PASSES", 1)


Played = Callable[..., Awaitable[str]]


@pytest.fixture
def played(hosted: "Hosted", records: "Records") -> Played:
    """Return what stores a finished run: a score for each seed from 0 on, None for one that is missing.

    Its domain is published where it is not there yet.
    """

    async def play(scores: Sequence[float | None], **given: Any) -> str:
        domain_id = given.get("domain_id", "guess")
        publish(hosted, domain_id)
        agent = {"model": given.get("model", "openai/a"), **given.get("agent", {})}
        higher = given.get("higher", True)
        metric = {"name": "solved", "score": "solved", "primary": True, "low": 0.0, "high": 1.0}
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if known else None
        numbers = (len(scores), len(known), len(known))
        result = MetricResult("solved", "mean", mean, None, None, "", *numbers, primary=True, higher_is_better=higher)
        run = records.run(
            benchmark=domain_id,
            model=agent["model"],
            counts=Counts(planned=len(scores), completed=len(scores)),
            metrics=(result,),
            info={"metrics": [{**metric, "higher_is_better": higher}]},
            status=given.get("status", RunStatus.FINISHED),
            benchmark_digest=given.get("content", "content"),
        )
        episodes = [
            records.episode(
                run,
                index=seed,
                status=EpisodeStatus.COMPLETED,
                usage=Usage(10, 1, 0, 0, given.get("cost", 0.25), 1),
                scores=(Score("solved", score, None if score is not None else Cause.RATE_LIMITED),),
            )
            for seed, score in enumerate(scores)
        ]
        store = hosted.service.store
        await records.write(store, run, episodes)
        hosted.service.store.run_requests.add(
            RunRequest(
                run_id=run.id,
                actor=given.get("actor", "user:1"),
                environment_id=given.get("environment"),
                environment_version=given.get("version"),
                team_id=given.get("team_id"),
                workspace_id=given.get("workspace_id"),
                domain_id=domain_id,
                vow_version=given.get("vow", "1.0.0"),
                model=agent["model"],
                visibility=given.get("visibility", "gallery_public"),
                config={
                    "domain_id": domain_id,
                    "binding_vow_version": "1.0.0",
                    "agent_config": agent,
                    DECLARED: given.get("declared", given.get("visibility", "gallery_public")),
                },
                state="ended",
                created_at=run.created_at,
                expires_at=given.get("expires_at"),
                protocol=given.get("protocol"),
            )
        )
        return run.id

    return play


def publish(hosted: "Hosted", domain_id: str, status: str = "published") -> None:
    """Keep a domain of which nothing but its name matters."""
    now = time.time()
    document = {
        "binding_vow": {
            "version": "1.0.0",
            "tier": "tier1",
            "observation_space": {"type": "json"},
            "action_space": {"type": "text"},
            "reward": {"type": "binary"},
            "episode": {},
        },
        "endpoint": {"mode": "sandbox"},
        "scoring": {
            "primary_metric": "solved",
            "metrics": [{"name": "solved", "type": "episode_reward", "aggregation": "mean"}],
        },
    }
    hosted.service.store.domains.add(DomainRow(domain_id, None, None, status, domain_id.title(), document, now, now))


def board(hosted: "Hosted", domain_id: str = "guess", **query: Any) -> list[dict[str, Any]]:
    answer = hosted.anonymous.get(f"/api/leaderboards/{domain_id}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def test_runs_of_one_configuration_are_one_entry_over_all_their_episodes(
    hosted: "Hosted", played: Played
) -> None:
    await played([1, 1, 0, 0], actor="user:1")
    newest = await played([1, 1, 1, 1], actor="user:2")
    (entry,) = board(hosted)
    assert entry["run_id"] == newest
    assert (entry["runs"], entry["actors"], entry["num_episodes"], entry["n_tasks"]) == (2, 2, 8, 4)
    assert entry["primary_score"] == 0.75
    assert entry["all_scores"] == {"solved": 0.75}
    assert entry["primary"]["low"] < 0.75 < entry["primary"]["high"]
    assert (entry["rank"], entry["rank_last"], entry["tied"]) == (1, 1, False)


async def test_two_runs_of_the_same_tasks_tell_less_than_twice_the_tasks(hosted: "Hosted", played: Played) -> None:
    scores = [1, 0, 1, 0, 1, 1]
    await played(scores, model="openai/twice")
    await played(scores, model="openai/twice")
    await played([*scores, *scores], model="openai/once")
    width = {entry["model"]: entry["primary"]["high"] - entry["primary"]["low"] for entry in board(hosted)}
    assert width["openai/twice"] > 1.2 * width["openai/once"]


@pytest.mark.parametrize(
    "agent",
    [
        {"system_prompt": PROMPT},
        {"temperature": 0.7},
        {"max_tokens": 100},
        {"techniques": [{"technique_id": "memory", "params": {}}]},
    ],
)
async def test_another_configuration_of_the_agent_is_another_entry(
    hosted: "Hosted", played: Played, agent: dict[str, Any]
) -> None:
    await played([1, 0])
    await played([0, 1], agent=agent)
    assert [entry["runs"] for entry in board(hosted)] == [1, 1]


async def test_what_says_the_same_of_an_agent_is_one_entry(hosted: "Hosted", played: Played) -> None:
    await played([1, 0])
    await played([1, 0], agent={"system_prompt": "", "temperature": 0, "techniques": []})
    assert [entry["runs"] for entry in board(hosted)] == [2]


async def test_prompts_and_texts_of_techniques_are_not_shown(hosted: "Hosted", played: Played) -> None:
    techniques = [{"technique_id": "multi_agent", "params": {"prompts": {"a": PROMPT}}}]
    await played([1], agent={"system_prompt": PROMPT, "techniques": techniques})
    (entry,) = board(hosted)
    assert entry["agent"] == {
        "custom_prompt": True,
        "techniques": ["multi_agent"],
        "temperature": 0.0,
        "max_tokens": 4096,
    }
    assert PROMPT not in hosted.anonymous.get("/api/leaderboards/guess").text


async def test_entries_that_chance_could_have_ordered_share_places(hosted: "Hosted", played: Played) -> None:
    await played([1] * 30, model="openai/best")
    await played([1] * 12 + [0] * 18, model="openai/middle")
    await played([1] * 10 + [0] * 20, model="openai/other")
    places = {entry["model"]: (entry["rank"], entry["rank_last"], entry["tied"]) for entry in board(hosted)}
    assert places == {"openai/best": (1, 1, False), "openai/middle": (2, 3, True), "openai/other": (2, 3, True)}


async def test_the_best_is_first_in_the_direction_that_is_better(hosted: "Hosted", played: Played) -> None:
    await played([1] * 20, model="openai/slow", higher=False)
    await played([0] * 20, model="openai/fast", higher=False)
    assert [entry["model"] for entry in board(hosted)] == ["openai/fast", "openai/slow"]


async def test_random_agents_take_no_place(hosted: "Hosted", played: Played) -> None:
    await played([0] * 20, model="builtin/random")
    await played([1] * 20, model="openai/a")
    places = {entry["model"]: (entry["rank"], entry["reference"]) for entry in board(hosted)}
    assert places == {"openai/a": (1, ""), "builtin/random": (None, "floor")}


async def test_versions_of_the_vow_are_ranked_by_themselves_the_newest_first(hosted: "Hosted", played: Played) -> None:
    await played([0] * 20, vow="1.10.0")
    await played([1] * 20, vow="1.9.0")
    assert [(entry["binding_vow_version"], entry["rank"]) for entry in board(hosted)] == [("1.10.0", 1), ("1.9.0", 1)]


async def test_a_new_version_of_an_environment_takes_no_place_from_anybody(hosted: "Hosted", played: Played) -> None:
    await played([1] * 20, model="openai/old", content="one", environment="game", version=1)
    for model, passed in (("openai/new", 20), ("openai/newer", 0), ("openai/newest", 0)):
        scores = [1] * passed + [0] * (20 - passed)
        await played(scores, model=model, content="two", environment="game", version=2)
    told = ("rank", "rank_last", "uncompared", "environment_version", "unranked")
    assert {entry["model"]: tuple(entry[name] for name in told) for entry in board(hosted)} == {
        "openai/old": (1, 4, 3, 1, ""),
        "openai/new": (1, 2, 1, 2, ""),
        "openai/newer": (2, 4, 1, 2, ""),
        "openai/newest": (2, 4, 1, 2, ""),
    }


async def test_runs_in_two_versions_of_an_environment_are_two_entries(hosted: "Hosted", played: Played) -> None:
    await played([1] * 20, content="one")
    await played([0] * 20, content="two")
    assert [(entry["primary_score"], entry["rank"], entry["rank_last"]) for entry in board(hosted)] == [
        (1.0, 1, 2),
        (0.0, 1, 2),
    ]


async def test_an_entry_that_takes_no_place_says_why(hosted: "Hosted", played: Played) -> None:
    await played([1, 0, None, None], model="openai/part")
    await played([None, None], model="openai/broken")
    await played([0, 0], model="builtin/random")
    await played([None, None], model="builtin/oracle")
    found = {entry["model"]: (entry["unranked"], entry["reference"]) for entry in board(hosted)}
    assert found == {
        "openai/part": ("2 of 4 episodes have no value", ""),
        "openai/broken": ("nothing was scored", ""),
        "builtin/random": ("", "floor"),
        "builtin/oracle": ("", "ceiling"),
    }


async def test_other_runs_with_the_same_mean_are_compared_anew(hosted: "Hosted", played: Played) -> None:
    half = [1.0] * 10 + [0.0] * 10
    await played(half, model="openai/other")
    alike = await played(half, model="openai/a")
    opposite = await played(half[::-1], model="openai/a", visibility="private")
    await played([1.0] * 20, model="openai/a")
    assert board(hosted)[0]["rank_last"] == 1
    hosted.service.store.run_requests.set_visibility(alike, "private")
    hosted.service.store.run_requests.set_visibility(opposite, "gallery_public")
    assert (board(hosted)[0]["primary_score"], board(hosted)[0]["rank_last"]) == (0.75, 2)


async def test_missing_episodes_are_told(hosted: "Hosted", played: Played) -> None:
    await played([1, 0, None, None])
    (entry,) = board(hosted)
    assert (entry["n_scored"], entry["n_planned"], entry["missing"]) == (2, 4, {"rate_limited": 2})


async def test_a_group_without_a_score_comes_last_without_a_place(hosted: "Hosted", played: Played) -> None:
    await played([None, None], model="openai/broken")
    await played([0, 0], model="openai/a")
    assert [(entry["model"], entry["rank"]) for entry in board(hosted)] == [("openai/a", 1), ("openai/broken", None)]


async def test_private_and_unfinished_runs_are_on_no_board(hosted: "Hosted", played: Played) -> None:
    await played([1], visibility="private")
    await played([1], status=RunStatus.STOPPED)
    assert board(hosted) == []
    assert hosted.anonymous.get("/api/gallery/runs").json() == []


async def test_runs_of_a_workspace_are_on_no_board_and_in_no_gallery(hosted: "Hosted", played: Played) -> None:
    ada = hosted.member("ada")
    team = ada.post("/api/teams", {"name": "Pandas"}).json()["team_id"]
    workspace = ada.post("/api/workspaces", {"name": "Reefs"}).json()["id"]
    run_id = await played([1], actor=f"user:{ada.user_id}", team_id=team, workspace_id=workspace)
    assert ada.get(f"/api/runs/{run_id}").json()["workspace_id"] == workspace
    assert board(hosted) == []
    assert ada.get(f"/api/teams/{team}/leaderboard").json() == []
    for person in (hosted.anonymous, ada):
        assert person.get("/api/gallery/runs").json() == []
    assert ada.get("/api/runs", params={"team": team}).json()["items"] == []


async def test_a_board_follows_what_becomes_of_its_runs(hosted: "Hosted", played: Played) -> None:
    first = await played([1, 0])
    assert board(hosted)[0]["primary_score"] == 0.5
    second = await played([0, 0])
    assert board(hosted)[0]["primary_score"] == 0.25
    hosted.service.store.run_requests.set_visibility(first, "private")
    assert board(hosted)[0]["primary_score"] == 0.0
    # As many public runs as before, changed at the same times but for one.
    hosted.service.store.run_requests.set_visibility(second, "private")
    hosted.service.store.run_requests.set_visibility(first, "gallery_public")
    assert board(hosted)[0]["primary_score"] == 0.5


async def test_a_run_that_is_scored_anew_changes_its_board(hosted: "Hosted", played: Played) -> None:
    run_id = await played([1, 0])
    assert board(hosted)[0]["primary_score"] == 0.5
    store = hosted.service.store
    store.episodes.save_scores(
        run_id, [(episode.id, (Score("solved", 1.0),)) for episode in store.episodes.list(run_id).items]
    )
    run = store.runs.get(run_id)
    store.leases.take(run_id, store.leases.owner())
    store.runs.save(run)
    store.leases.release(run_id, store.leases.owner())
    assert board(hosted)[0]["primary_score"] == 1.0


async def test_a_board_is_computed_once_for_all_who_look(
    hosted: "Hosted", played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played([1, 0], model="openai/a")
    await played([1, 0], model="openai/b")
    measured: list[int] = []

    def counting(
        metrics: Sequence[Metric], rows: Iterable[ScoreRow], planned: int, *, parts: Mapping[str, int]
    ) -> tuple[MetricResult, ...]:
        measured.append(planned)
        return measure(metrics, rows, planned, parts=parts)

    monkeypatch.setattr(grouping, "measure", counting)
    for _ in range(3):
        board(hosted)
    assert measured == [2, 2]
    await played([1, 1, 1], model="openai/b")
    board(hosted)
    assert measured == [2, 2, 5]


async def test_who_has_a_board_already_is_not_sent_it_again(hosted: "Hosted", played: Played) -> None:
    await played([1, 0])
    tag = hosted.anonymous.get("/api/leaderboards/guess").headers["ETag"]
    same = hosted.anonymous.get("/api/leaderboards/guess", headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    await played([1, 1])
    assert hosted.anonymous.get("/api/leaderboards/guess", headers={"If-None-Match": tag}).status_code == 200


async def test_boards_of_several_domains_are_given_at_once(hosted: "Hosted", played: Played) -> None:
    await played([1], domain_id="one")
    await played([0], domain_id="two")
    publish(hosted, "hidden", "draft")
    answer = hosted.anonymous.get("/api/leaderboards", params={"domain_ids": "one, two,hidden,none,one"})
    found = {name: len(entries) for name, entries in answer.json()["leaderboards"].items()}
    assert found == {"one": 1, "two": 1, "hidden": 0, "none": 0}
    many = ",".join(str(number) for number in range(51))
    for wrong in (many, "", ","):
        assert hosted.anonymous.get("/api/leaderboards", params={"domain_ids": wrong}).status_code == 422
    assert hosted.anonymous.get("/api/leaderboards").status_code == 422


async def test_a_domain_that_is_not_published_has_no_board(hosted: "Hosted", played: Played) -> None:
    await played([1])
    row = hosted.service.store.domains.get("guess")
    assert row is not None
    assert hosted.service.store.domains.replace(msgspec.structs.replace(row, status="draft"))
    assert hosted.admin().get("/api/leaderboards/guess").json() == []
    assert hosted.anonymous.get("/api/leaderboards/guess").status_code == 404
    assert hosted.anonymous.get("/api/leaderboards/none").status_code == 404


async def test_a_board_has_as_many_entries_as_wanted(hosted: "Hosted", played: Played) -> None:
    for name in ("a", "b", "c"):
        await played([1], model=f"openai/{name}")
    assert len(board(hosted, limit=2)) == 2
    assert hosted.anonymous.get("/api/leaderboards/guess", params={"limit": 0}).status_code == 422


async def test_the_mean_cost_of_an_episode_is_none_where_a_price_is_unknown(hosted: "Hosted", played: Played) -> None:
    await played([1, 1], cost=1.0)
    await played([1, 1], cost=0.5)
    assert board(hosted)[0]["cost_usd"] == 0.75
    await played([1, 1], cost=None)
    assert board(hosted)[0]["cost_usd"] is None


async def test_a_team_sees_a_board_of_all_its_runs(hosted: "Hosted", played: Played) -> None:
    ada = hosted.member("ada")
    team = ada.post("/api/teams", {"name": "Pandas"}).json()["team_id"]
    where = f"/api/teams/{team}"
    private = await played([1, 0], visibility="private", team_id=team)
    await played([1, 1], domain_id="other", team_id=team)
    await played([1, 1], model="openai/theirs")
    found = ada.get(f"{where}/leaderboard").json()
    assert [(entry["domain_id"], entry["domain_name"]) for entry in found] == [("other", "Other"), ("guess", "Guess")]
    assert [entry["run_id"] for entry in ada.get(f"{where}/leaderboard", params={"domain_id": "guess"}).json()] == [
        private
    ]
    assert len(ada.get("/api/runs", params={"team": team}).json()["items"]) == 2
    assert ada.get(f"{where}/environments").json() == []
    for path in ("leaderboard", "environments"):
        assert hosted.member(f"eve-{path}").get(f"{where}/{path}").status_code == 403


async def test_the_gallery_lists_public_runs_newest_first(hosted: "Hosted", played: Played) -> None:
    first = await played([1], domain_id="one")
    second = await played([0, 1], domain_id="two", actor="guest:g1")
    found = hosted.anonymous.get("/api/gallery/runs").json()
    assert [run["run_id"] for run in found] == [second, first]
    assert [run["actor_label"] for run in found] == ["Guest", "Member"]
    assert [run["domain_name"] for run in found] == ["Two", "One"]
    assert [run["primary_score"] for run in found] == [0.5, 1.0]
    older = hosted.anonymous.get("/api/gallery/runs", params={"cursor": second, "limit": 5}).json()
    assert [run["run_id"] for run in older] == [first]


@pytest.mark.parametrize(("higher", "best_first"), [(True, [1.0, 0.5, 0.0, None]), (False, [0.0, 0.5, 1.0, None])])
async def test_the_gallery_of_a_domain_begins_with_the_best(
    hosted: "Hosted", played: Played, higher: bool, best_first: list[float | None]
) -> None:
    for scores in ([1, 1], [0, 0], [None], [1, 0]):
        await played(scores, higher=higher)
    found = hosted.anonymous.get("/api/gallery/runs", params={"domain_id": "guess"}).json()
    assert [run["primary_score"] for run in found] == best_first


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("sort", [{}, {"sort": "score"}])
async def test_the_best_of_a_domain_are_listed_once_in_pages(
    hosted: "Hosted", played: Played, higher: bool, sort: dict[str, str]
) -> None:
    for scores in ([1, 1], [0, 0], [None], [1, 0], [0, 1], [None], [1, 1]):
        await played(scores, higher=higher)
    params: dict[str, Any] = {"domain_id": "guess", **sort}
    whole = [run["run_id"] for run in hosted.anonymous.get("/api/gallery/runs", params=params).json()]
    paged: list[str] = []
    while page := hosted.anonymous.get("/api/gallery/runs", params={**params, "limit": 2}).json():
        paged += [run["run_id"] for run in page]
        params["cursor"] = paged[-1]
    assert (len(paged), paged) == (7, whole)


async def test_the_place_of_a_hidden_run_is_not_told(hosted: "Hosted", played: Played) -> None:
    await played([1])
    hidden = await played([0], visibility="private")
    query = {"domain_id": "guess", "cursor": hidden}
    answer = hosted.anonymous.get("/api/gallery/runs", params=query)
    assert (answer.status_code, "begin with the first page" in answer.json()["detail"]) == (404, True)


async def test_the_gallery_refuses_what_makes_no_sense(hosted: "Hosted", played: Played) -> None:
    await played([1])
    assert hosted.anonymous.get("/api/gallery/runs", params={"domain_id": "none"}).status_code == 404
    assert hosted.anonymous.get("/api/gallery/runs", params={"sort": "score"}).status_code == 422


async def test_own_and_public_runs_of_a_domain_are_listed_once_in_pages(hosted: "Hosted", played: Played) -> None:
    ada = hosted.member("ada")
    mine = f"user:{ada.user_id}"
    runs = []
    for number in range(7):
        actor = mine if number % 2 else "user:99"
        visibility = "gallery_public" if number % 3 else "private"
        run_id = await played([1], actor=actor, visibility=visibility)
        if actor == mine or visibility == "gallery_public":
            runs.append((run_id, actor == mine))
    runs.reverse()
    where = "/api/runs?benchmark=guess"
    paged: list[tuple[str, bool]] = []
    cursor: str | None = None
    while True:
        page = ada.get(where, params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        paged += [(item["id"], item["mine"]) for item in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert paged == runs
    public = hosted.anonymous.get(where).json()["items"]
    assert len(public) == 4
    assert all(item["visibility"] == "gallery_public" and not item["mine"] for item in public)


def test_techniques_tell_their_real_parameters(hosted: "Hosted") -> None:
    found = {one["id"]: one for one in hosted.anonymous.get("/api/techniques").json()}
    assert {"memory", "multi_agent", "tool_calling"} <= set(found)
    assert list(found) == sorted(found)
    assert "window_size" in found["memory"]["config_schema"]["properties"]
    one = hosted.anonymous.get("/api/techniques/multi-agent").json()
    assert one == found["multi_agent"]
    assert one["version"] == "1.0.0"


@pytest.mark.parametrize("name", ["none", "os:system", "antigravity:x", "%2Ftmp%2Fa.py:x", "%00"])
def test_no_technique_is_imported_because_somebody_names_it(hosted: "Hosted", name: str) -> None:
    assert hosted.anonymous.get(f"/api/techniques/{name}").status_code == 404


def pick(entry: dict[str, Any]) -> tuple[int, int]:
    return entry["published"], entry["candidates"]


async def test_a_run_that_was_chosen_afterwards_says_out_of_how_many(hosted: "Hosted", played: Played) -> None:
    for _ in range(3):
        await played([0, 0], visibility="private")
    await played([1, 1], declared="private")
    (entry,) = board(hosted)
    assert (entry["runs"], *pick(entry)) == (1, 1, 4)
    await played([0, 0], visibility="private", status=RunStatus.PARTIAL)
    assert pick(board(hosted)[0]) == (1, 5)


async def test_runs_that_were_declared_public_count_without_those_that_were_declared_private(
    hosted: "Hosted", played: Played
) -> None:
    await played([0, 0], visibility="private")
    await played([1, 1])
    assert pick(board(hosted)[0]) == (1, 1)
    # One that was to be shown, and was hidden when its score was known.
    await played([0, 0], visibility="private", declared="gallery_public")
    assert pick(board(hosted)[0]) == (1, 2)


async def test_only_runs_of_the_same_owner_model_and_vow_are_candidates(hosted: "Hosted", played: Played) -> None:
    others = ({"actor": "user:2"}, {"model": "openai/b"}, {"vow": "0.9.0"}, {"domain_id": "other"}, {"team_id": None})
    for other in others[:4]:
        await played([0, 0], **{"visibility": "private", **other})
    await played([1, 1], declared="private")
    assert pick(board(hosted)[0]) == (1, 1)


async def test_a_partial_run_is_on_no_board(hosted: "Hosted", played: Played) -> None:
    await played([1, None], status=RunStatus.PARTIAL)
    assert board(hosted) == []


async def test_deleting_runs_does_not_make_the_shown_one_look_better(hosted: "Hosted", played: Played) -> None:
    for _ in range(3):
        hosted.service.store.runs.delete(await played([0, 0], visibility="private"))
    await played([1, 1], declared="private")
    assert pick(board(hosted)[0]) == (1, 4)


async def test_a_run_that_was_to_be_shown_and_was_deleted_stays_counted(hosted: "Hosted", played: Played) -> None:
    bad = await played([0, 0])
    await played([1, 1])
    assert pick(board(hosted)[0]) == (2, 2)
    hosted.service.store.runs.delete(bad)
    assert pick(board(hosted)[0]) == (1, 2)


async def test_a_run_that_was_stopped_when_its_score_looked_bad_stays_counted(hosted: "Hosted", played: Played) -> None:
    await played([0, 0, 0], status=RunStatus.STOPPED)
    await played([1, 1, 1])
    assert pick(board(hosted)[0]) == (1, 2)


async def test_a_run_of_which_nothing_was_played_is_not_counted_when_it_is_deleted(
    hosted: "Hosted", played: Played
) -> None:
    hosted.service.store.runs.delete(await played([], status=RunStatus.STOPPED))
    await played([1, 1])
    assert pick(board(hosted)[0]) == (1, 1)


async def test_a_guest_whose_runs_expired_hid_nothing(hosted: "Hosted", played: Played) -> None:
    await played([1, 1], actor="guest:g1", expires_at=1.0)
    await played([1, 1], actor="guest:g1", expires_at=time.time() + 60)
    clean(hosted.service)
    assert pick(board(hosted)[0]) == (1, 1)


async def test_boards_and_gallery_tell_the_worst_check_of_what_was_played(hosted: "Hosted", played: Played) -> None:
    row = EnvironmentRow(id="e", holder_key="user:1", status="ready", ready_version=2)
    versions = [
        VersionRow(environment_id="e", version=number, state=BuildState.READY, verdict=f'{{"state":"{state}"}}')
        for number, state in ((1, "failed"), (2, "passed"))
    ]
    hosted.service.store.environments.add(row, *versions)
    await played([1, 0], environment="e", version=2)
    assert board(hosted)[0]["check"] == "passed"
    await played([1, 0], environment="e", version=1)
    assert board(hosted)[0]["check"] == "failed"
    shown = hosted.anonymous.get("/api/gallery/runs", params={"sort": "newest", "domain_id": "guess"}).json()
    assert [run["check"] for run in shown] == ["failed", "passed"]
    await played([1, 0], model="openai/elsewhere")
    assert {entry["model"]: entry["check"] for entry in board(hosted)} == {
        "openai/a": "failed",
        "openai/elsewhere": None,
    }


@pytest.mark.parametrize(
    ("told", "doubt"),
    [
        ({"rescoring": True, "rescored_with": "easier", "graded_with": "easier"}, "scores are of two kinds"),
        ({"rescored_with": "easier", "graded_with": "easier"}, "rescored by other rules"),
    ],
)
async def test_runs_take_no_place_together_where_one_of_them_alone_takes_none(
    hosted: "Hosted", played: Played, told: dict[str, Any], doubt: str
) -> None:
    ids = [await played([1.0] * 10), await played([0.0] * 10)]
    store = hosted.service.store
    older = store.runs.get(ids[0])
    older.provenance = {**older.provenance, **told}
    store.runs.save(older, terms=True)
    (group,) = leaderboards_of(hosted.service).groups(BoardScope(domain_id="guess"))
    assert group.primary is not None
    assert group.primary.n_scored == 20
    assert doubt in group.newest.doubt
    assert [place.rank for place in leaderboards_of(hosted.service).ranked([group])] == [None]
