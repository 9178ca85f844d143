import { useEffect, useState } from 'react'
import { get } from '../../api/client'
import { aligned, firstDifference, type Summary } from './align'

/** Where two episodes part ways, as far as it is known. */
export interface Difference {
  /** The first step with another action; null while none was found. */
  step: number | null
  done: boolean
  /** Step up to which both were the same. */
  same: number
}

const PAGE = 500

/** Look for the first step at which two episodes did something else. */
export function useDifference(a: string, b: string): Difference {
  const [found, setFound] = useState<Difference>({ step: null, done: false, same: 0 })
  useEffect(() => {
    const work = new AbortController()
    setFound({ step: null, done: false, same: 0 })
    if (a && b) void look(a, b, work.signal, setFound)
    return () => work.abort()
  }, [a, b])
  return found
}

async function look(a: string, b: string, signal: AbortSignal, tell: (found: Difference) => void): Promise<void> {
  let from = 0
  try {
    for (;;) {
      const [left, right] = await Promise.all([page(a, from, signal), page(b, from, signal)])
      if (signal.aborted) return
      // A page that was cut short says nothing about the steps after it.
      const end = Math.min(left.next ?? Number.POSITIVE_INFINITY, right.next ?? Number.POSITIVE_INFINITY)
      const within = (one: Summary) => one.step < end
      const step = firstDifference(aligned(left.items.filter(within), right.items.filter(within)))
      if (step !== null || end === Number.POSITIVE_INFINITY) return tell({ step, done: true, same: step ?? left.last })
      from = end
      tell({ step: null, done: false, same: from })
    }
  } catch {
    if (!signal.aborted) tell({ step: null, done: true, same: from })
  }
}

function page(id: string, from: number, signal: AbortSignal) {
  return get('/api/episodes/{episode_id}/steps', { params: { episode_id: id }, query: { from, limit: PAGE }, signal })
}
