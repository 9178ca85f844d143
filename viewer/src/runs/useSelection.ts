import { useCallback, useMemo, useState } from 'react'
import type { Run } from './page'
import { toggledRun } from './selection'

/** The selected runs, in the order of selecting. */
export interface Selection {
  ids: readonly string[]
  set: ReadonlySet<string>
  /** The selected runs as they were when they were selected. */
  runs: readonly Run[]
  toggle: (run: Run) => void
  clear: () => void
  /** Take over what became of selected runs. */
  see: (runs: readonly Run[]) => void
}

/** A selection of runs that outlives filtering and scrolling. */
export function useSelection(): Selection {
  const [ids, setIds] = useState<string[]>([])
  const [seen, setSeen] = useState<ReadonlyMap<string, Run>>(new Map())
  const toggle = useCallback((run: Run) => {
    setIds((before) => toggledRun(before, run.id))
    setSeen((before) => new Map(before).set(run.id, run))
  }, [])
  const clear = useCallback(() => {
    setIds([])
    setSeen(new Map())
  }, [])
  const see = useCallback((runs: readonly Run[]) => {
    setSeen((before) => {
      const after = new Map(before)
      for (const run of runs) if (after.has(run.id)) after.set(run.id, run)
      return after
    })
  }, [])
  return useMemo(
    () => ({ ids, set: new Set(ids), runs: ids.flatMap((id) => seen.get(id) ?? []), toggle, clear, see }),
    [ids, seen, toggle, clear, see],
  )
}
