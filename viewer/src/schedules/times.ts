/** Times of schedules, in words. */
import type { Schema } from '../api/types'

type Schedule = Schema<'ScheduleDocument'>

/** Expressions that are often wanted. */
export const USUAL: readonly { value: string; label: string }[] = [
  { value: '0 3 * * *', label: 'every day at 3:00' },
  { value: '0 3 * * 1-5', label: 'Monday to Friday at 3:00' },
  { value: '0 3 * * 1', label: 'every Monday at 3:00' },
  { value: '0 3 1 * *', label: 'on the first of each month at 3:00' },
  { value: '0 * * * *', label: 'every hour' },
  { value: '*/15 * * * *', label: 'every 15 minutes' },
]

/** When a schedule runs. */
export function runsWhen({
  trigger,
  branch,
  cron,
  timezone,
}: Pick<Schedule, 'trigger' | 'branch' | 'cron' | 'timezone'>): string {
  if (trigger === 'sync') return branch ? `after each sync of ${branch}` : 'after each sync'
  const usual = USUAL.find((one) => one.value === cron)
  return `${usual?.label ?? cron} (${timezone})`
}

/** An instant with its day of the week, in a time zone; as it is where the zone is not known. */
export function inZone(instant: string, timezone: string): string {
  const wanted: Intl.DateTimeFormatOptions = {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }
  try {
    return new Intl.DateTimeFormat('en-GB', { ...wanted, timeZone: timezone }).format(new Date(instant))
  } catch {
    return instant
  }
}

/** The time zone of the browser. */
export function ownZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** The time zones that the browser knows. */
export function zones(): readonly string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
}

const SOON_MS = 2_000
const LATER_MS = 30_000

/** How long until schedules are read again: soon while one of their runs is waiting or running. */
export function lookAgain(runs: readonly (Schema<'ScheduledRunDocument'> | null)[]): number {
  const going = (run: Schema<'ScheduledRunDocument'> | null) =>
    run !== null && (run.status === 'pending' || run.run_status === 'pending' || run.run_status === 'running')
  return runs.some(going) ? SOON_MS : LATER_MS
}
