import { useSyncExternalStore } from 'react'
import { exactTime, relative } from '../format'

const TICK_MS = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const one of listeners) one()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** An instant as a distance from now that stays true; in full on hover. */
export function When({ at }: { at: string | null | undefined }) {
  const text = useSyncExternalStore(subscribe, () => relative(at, seenFrom(at)))
  if (!at) return <span className="muted">–</span>
  return (
    <time className="number" dateTime={at} data-tip={exactTime(at)}>
      {text}
    </time>
  )
}

/** The last tick, or the instant itself when it came after that: what just happened is never ahead. */
function seenFrom(at: string | null | undefined): number {
  const base = Math.max(now, Date.now() - TICK_MS)
  const instant = at ? Date.parse(at) : base
  return instant > base && instant <= Date.now() ? instant : base
}
