/** How the place of an entry on a leaderboard is written. */
import type { Doc } from '../api/platform'
import { plural } from '../format'

/** The place in short: `1`, `2–4` for one that it shares, the end of the scale that it is, or a dash. */
export function placeOf(entry: Pick<Doc<'LeaderboardEntry'>, 'rank' | 'rank_last' | 'reference'>): string {
  if (entry.reference) return entry.reference
  if (entry.rank === null || entry.rank === undefined) return '–'
  const last = entry.rank_last ?? entry.rank
  return last > entry.rank ? `${entry.rank}–${last}` : String(entry.rank)
}

/** The place in words. */
export function placeWords(
  entry: Pick<Doc<'LeaderboardEntry'>, 'rank' | 'rank_last' | 'reference' | 'tied' | 'unranked' | 'uncompared'>,
): string {
  if (entry.unranked) return `Takes no place: ${entry.unranked}`
  if (entry.reference === 'floor') return 'What chance reaches; takes no place'
  if (entry.reference === 'ceiling') return 'What the best actions reach; takes no place'
  if (!entry.tied) return entry.rank ? `Place ${entry.rank}` : 'Takes no place'
  const apart = entry.uncompared
    ? `; ${plural(entry.uncompared, 'entry', 'entries')} of other versions or rules cannot be compared with it`
    : ''
  return `Any place from ${placeOf(entry).replace('–', ' to ')}: differences to others may be chance${apart}`
}

/** What became of a participant's official attempts, in words. */
export function attemptWords(attempts: Doc<'AttemptCounts'>): string {
  const parts = [
    `${attempts.finished} finished`,
    attempts.going > 0 && `${attempts.going} going on`,
    attempts.unfinished > 0 && `${attempts.unfinished} not finished`,
    attempts.deleted > 0 && `${attempts.deleted} deleted`,
  ]
  return `Of ${plural(attempts.total, 'attempt')} with this model: ${parts.filter(Boolean).join(', ')}`
}

/** How official runs are played, in words. */
export function protocolWords(protocol: Doc<'OfficialProtocol'>): string {
  const trials = protocol.trials ?? 1
  const parts = [
    `${protocol.episodes ?? 0} seeds drawn by the server for each run${trials > 1 ? `, ${trials} times each` : ''}`,
    protocol.max_steps != null && `${protocol.max_steps} steps`,
    `${protocol.max_tokens} tokens an answer`,
    `temperature ${protocol.temperature}`,
    protocol.on_malformed !== 'auto' && `malformed replies: ${protocol.on_malformed}`,
    `vow ${protocol.vow_version}`,
    protocol.environment_version != null && `environment version ${protocol.environment_version}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** The scale that all entries are drawn on: from zero, or the lowest, to one, or the highest. */
export function scaleOf(entries: readonly Pick<Doc<'LeaderboardEntry'>, 'primary'>[]): [number, number] {
  const values = entries.flatMap(({ primary }) =>
    primary ? [primary.value, primary.low, primary.high].filter((one) => typeof one === 'number') : [],
  )
  return [Math.min(0, ...values), Math.max(1, ...values)]
}

/** How an agent was set up, in a few words; empty when nothing is special. */
export function agentWords(agent: Doc<'LeaderboardAgent'>): string {
  const words = [
    agent.custom_prompt && 'own prompt',
    ...agent.techniques,
    agent.temperature !== 0 && `temperature ${agent.temperature}`,
  ]
  return words.filter(Boolean).join(', ')
}
