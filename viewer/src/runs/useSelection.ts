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
  return useMemo(
    () => ({ ids, set: new Set(ids), runs: ids.flatMap((id) => seen.get(id) ?? []), toggle, clear }),
    [ids, seen, toggle, clear],
  )
}
