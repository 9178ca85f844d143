import { useDocument } from '../api/query'
import { protocolWords } from '../domain/places'
import { Check } from '../form/Check'
import type { PartProps } from './LaunchForm'

/** Whether the run is for the official board, where the domain has one. */
export function OfficialField({ request, set }: PartProps) {
  const params = { domain_id: request.domain || '-' }
  const known = useDocument('/api/domains/{domain_id}/protocols', { params })
  const protocol = request.domain ? known.data?.[0] : undefined
  if (!protocol) return null
  return (
    <Check
      label="Official run"
      hint={`For the official leaderboard, by protocol ${protocol.version}: ${protocolWords(protocol)}. The run is public and counts as an attempt, whatever its result.`}
      checked={request.official}
      onChange={(official) => set({ official })}
    />
  )
}
