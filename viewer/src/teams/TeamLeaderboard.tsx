import { useDocument } from '../api/query'
import { LeaderboardTable } from '../domain/LeaderboardTable'
import { Panel } from '../parts/Panel'

/** What a team reached, private runs too; nothing until there is something. */
export function TeamLeaderboard({ teamId }: { teamId: string }) {
  const { data } = useDocument('/api/teams/{team_id}/leaderboard', { params: { team_id: teamId } })
  if (data === undefined || data.length === 0) return null
  return (
    <Panel title="Leaderboard" note="finished runs of the team, including private ones" flush>
      <LeaderboardTable label="Ranking" entries={data} />
    </Panel>
  )
}
