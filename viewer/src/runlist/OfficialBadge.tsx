import { Badge } from '../parts/Badge'

/** Marks a run that is played by the protocol of its domain, for the official board; nothing for other runs. */
export function OfficialBadge({ protocol }: { protocol: number | null | undefined }) {
  if (protocol == null) return null
  return <Badge title={`Played by protocol ${protocol} of its domain, for the official leaderboard`}>official</Badge>
}
