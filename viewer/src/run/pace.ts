/** How fast a run goes and when it may be done. */

/** What was seen at a moment: episodes done at `at` (milliseconds). */
export interface Sighting {
  at: number
  done: number
}

/** Episodes per second, and seconds left at that rate; null where nothing can be said. */
interface Pace {
  perSecond: number | null
  secondsLeft: number | null
}

/** Sightings older than this tell nothing about now (milliseconds). */
export const WINDOW = 120_000

/** Add what was just seen and drop what is too old; a count that goes back (a resumed run) begins anew. */
export function remember(seen: readonly Sighting[], now: Sighting): Sighting[] {
  const last = seen.at(-1)
  if (last !== undefined && now.done < last.done) return [now]
  const recent = seen.filter((sighting) => now.at - sighting.at <= WINDOW)
  return last !== undefined && last.done === now.done && recent.length > 1
    ? [...recent.slice(0, -1), now]
    : [...recent, now]
}

/**
 * Rate by what was seen lately; before enough was seen, by the whole run (`done` in `duration` seconds). A rate of
 * less than two episodes is a guess, so that no time left is told.
 */
export function pace(seen: readonly Sighting[], whole: { done: number; owed: number; duration: number | null }): Pace {
  const perSecond = recentRate(seen) ?? wholeRate(whole.done, whole.duration)
  if (perSecond === null || perSecond <= 0) return { perSecond, secondsLeft: null }
  return { perSecond, secondsLeft: whole.done < 2 ? null : whole.owed / perSecond }
}

function recentRate(seen: readonly Sighting[]): number | null {
  const first = seen[0]
  const last = seen.at(-1)
  if (first === undefined || last === undefined) return null
  const seconds = (last.at - first.at) / 1000
  return seconds < 10 || last.done - first.done < 5 ? null : (last.done - first.done) / seconds
}

function wholeRate(done: number, duration: number | null): number | null {
  return duration === null || duration <= 0 || done === 0 ? null : done / duration
}
