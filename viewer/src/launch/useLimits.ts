/** What one may do now. */

import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { documentQuery } from '../api/query'
import { type Limits, obstacle } from './limits'

const LOOK_AGAIN = 15_000

/** The limits with those of a team, and why no run can be started this second. */
export function useLimits(team: string): { limits: Limits | undefined; reason: string | undefined } {
  const { data: limits, dataUpdatedAt } = useQuery({
    ...documentQuery('/api/limits', team ? { query: { team_id: team } } : {}),
    refetchInterval: LOOK_AGAIN,
  })
  const [now, setNow] = useState(Date.now)
  const waits = (limits?.cooldown_left_seconds ?? 0) > 0
  useEffect(() => {
    if (!waits) return undefined
    const timer = window.setInterval(() => setNow(Date.now()), 1_000)
    return () => window.clearInterval(timer)
  }, [waits])
  return { limits, reason: obstacle(limits, Math.max(0, now - dataUpdatedAt) / 1_000) }
}
