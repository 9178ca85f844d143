/** How the place of an entry on a leaderboard is written. */
import type { Schema } from '../api/types'
import { plural } from '../format'

/** The place in short: `1`, `2–4` for one that it shares, the end of the scale that it is, or a dash. */
export function placeOf(entry: Pick<Schema<'LeaderboardEntry'>, 'rank' | 'rank_last' | 'reference'>): string {
  if (entry.reference) return entry.reference
  if (entry.rank === null || entry.rank === undefined) return '–'
  const last = entry.rank_last ?? entry.rank
  return last > entry.rank ? `${entry.rank}–${last}` : String(entry.rank)
}

/** The place in words. */
export function placeWords(
  entry: Pick<Schema<'LeaderboardEntry'>, 'rank' | 'rank_last' | 'reference' | 'tied' | 'unranked' | 'uncompared'>,
): string {
  if (entry.unranked) return `Not ranked: ${entry.unranked}`
  if (entry.reference === 'floor') return 'Score of random actions; not ranked'
  if (entry.reference === 'ceiling') return 'Score of the best actions; not ranked'
  if (!entry.tied) return entry.rank ? `Rank ${entry.rank}` : 'Not ranked'
  const apart = entry.uncompared
    ? `; not comparable with ${plural(entry.uncompared, 'entry', 'entries')} for other versions or rules`
    : ''
  return `Tied for ranks ${placeOf(entry).replace('–', ' to ')}: the differences are not significant${apart}`
}

/** What became of a participant's official attempts, in words. */
export function attemptWords(attempts: Schema<'AttemptCounts'>): string {
  const parts = [
    `${attempts.finished} finished`,
    attempts.going > 0 && `${attempts.going} in progress`,
    attempts.unfinished > 0 && `${attempts.unfinished} unfinished`,
    attempts.deleted > 0 && `${attempts.deleted} deleted`,
  ]
  return `${plural(attempts.total, 'attempt')} with this model: ${parts.filter(Boolean).join(', ')}`
}

/** How official runs are played, in words. */
export function protocolWords(protocol: Schema<'OfficialProtocol'>): string {
  const trials = protocol.trials ?? 1
  const parts = [
    `${protocol.episodes ?? 0} seeds drawn by the server for each run${trials > 1 ? `, ${trials} trials each` : ''}`,
    protocol.max_steps != null && `${protocol.max_steps} steps`,
    `${protocol.max_tokens} tokens per reply`,
    `temperature ${protocol.temperature}`,
    protocol.on_malformed !== 'auto' && `invalid replies: ${protocol.on_malformed}`,
    `vow ${protocol.vow_version}`,
    protocol.environment_version != null && `environment version ${protocol.environment_version}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** The scale that all entries are drawn on: from zero, or the lowest, to one, or the highest. */
export function scaleOf(entries: readonly Pick<Schema<'LeaderboardEntry'>, 'primary'>[]): [number, number] {
  const values = entries.flatMap(({ primary }) =>
    primary ? [primary.value, primary.low, primary.high].filter((one) => typeof one === 'number') : [],
  )
  return [Math.min(0, ...values), Math.max(1, ...values)]
}

/** How an agent was set up, in a few words; empty when nothing is special. */
export function agentWords(agent: Schema<'LeaderboardAgent'>): string {
  const words = [
    agent.custom_prompt && 'custom prompt',
    ...agent.techniques,
    agent.temperature !== 0 && `temperature ${agent.temperature}`,
  ]
  return words.filter(Boolean).join(', ')
}
