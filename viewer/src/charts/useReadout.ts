import { useState } from 'react'

/** Which of `count` marks is under the pointer or was reached by arrow keys; undefined when none. */
export function useReadout(count: number) {
  const [at, setAt] = useState<number>()
  const shown = at !== undefined && at < count ? at : undefined
  const step = (by: -1 | 1 | 'first' | 'last' | 'none') => {
    if (by === 'none' || count === 0) setAt(undefined)
    else if (by === 'first') setAt(0)
    else if (by === 'last') setAt(count - 1)
    else setAt(shown === undefined ? (by === 1 ? 0 : count - 1) : Math.max(0, Math.min(count - 1, shown + by)))
  }
  return { at: shown, point: setAt, step, leave: () => setAt(undefined) }
}
