"""Leaderboards and public runs."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.gallery import GalleryRun
from mesocosm.server.schemas.leaderboard import DomainLeaderboards, LeaderboardEntry, TeamLeaderboardEntry
from mesocosm.server.schemas.protocol import OfficialBoard


class LeaderboardsResource(Resource):
    """Scores of agents, with intervals and possible ranks."""

    def get(self, domain_id: str, limit: int | None = None) -> tuple[LeaderboardEntry, ...]:
        """Return the leaderboard of a domain, best first."""
        return self._many(LeaderboardEntry, f"/api/leaderboards/{segment(domain_id)}", {"limit": limit})

    def official(self, domain_id: str, *, version: int | None = None, limit: int | None = None) -> OfficialBoard:
        """Return the official leaderboard of a domain, by default that of its newest protocol."""
        query = {"version": version, "limit": limit}
        return self._one(OfficialBoard, "GET", f"/api/leaderboards/{segment(domain_id)}/official", query=query)

    def of(self, *domain_ids: str) -> dict[str, list[LeaderboardEntry]]:
        """Return the leaderboards of up to 50 domains."""
        query = {"domain_ids": ",".join(domain_ids)}
        return self._one(DomainLeaderboards, "GET", "/api/leaderboards", query=query).leaderboards

    def team(self, team_id: str, limit: int | None = None) -> tuple[TeamLeaderboardEntry, ...]:
        """Return the leaderboard of a team, including private runs."""
        return self._many(TeamLeaderboardEntry, f"/api/teams/{segment(team_id)}/leaderboard", {"limit": limit})


class GalleryResource(Resource):
    """Public runs."""

    def runs(self, domain_id: str | None = None, limit: int | None = None) -> tuple[GalleryRun, ...]:
        """Return public runs of one domain, or of all."""
        return self._many(GalleryRun, "/api/gallery/runs", {"domain_id": domain_id, "limit": limit})
