/** What one may do, in words. */
import type { Schema } from '../api/types'
import { money, plural } from '../format'

/** The limits of the user, and how much of them is left. */
export type Limits = Schema<'LimitsDocument'>

/** Why no run can be started now; nothing when one can. `waited` are the seconds since the limits were read. */
export function obstacle(limits: Limits | undefined, waited = 0): string | undefined {
  if (limits === undefined) return undefined
  if (limits.runs_left_today <= 0)
    return `You have reached the limit of ${plural(limits.runs_per_day, 'run')} per day. It resets at 00:00 UTC.`
  if (limits.waiting >= limits.waiting_at_most)
    return `You have reached the limit of ${plural(limits.waiting, 'queued or active run')}. Cancel one, or wait.`
  const left = Math.ceil(limits.cooldown_left_seconds - waited)
  if (left > 0) return `You can start the next run in ${left} s.`
  return undefined
}

/** A budget as `$0.50 of $2.00 left`; nothing where there is none. */
export function budgetWords(budget: Schema<'BudgetDocument'> | null | undefined): string | undefined {
  if (budget?.limit_usd == null) return undefined
  return `${money(budget.left_usd)} of ${money(budget.limit_usd)} left`
}

/** What is wrong with a number of episodes. */
export function episodesProblem(episodes: number, limits: Limits | undefined): string | undefined {
  if (limits === undefined || !(episodes > limits.episodes_per_run)) return undefined
  return `A run can have at most ${plural(limits.episodes_per_run, 'episode')}.`
}
