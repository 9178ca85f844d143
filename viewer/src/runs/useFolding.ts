import { useCallback, useMemo, useState } from 'react'
import { type Row, type Run, rowsOf } from './page'

/** Attempts at the same that are folded into the newest one. */
interface Folding {
  /** The rows, when folding is on. */
  rows: Row[] | undefined
  /** Signatures of which all attempts are shown. */
  open: ReadonlySet<string>
  onFold: (signature: string) => void
}

/** Fold runs of the same signature while `folded`. */
export function useFolding(runs: readonly Run[], folded: boolean): Folding {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const onFold = useCallback((signature: string) => setOpen((before) => toggledIn(before, signature)), [])
  const rows = useMemo(() => (folded ? rowsOf(runs, true, open) : undefined), [folded, runs, open])
  return { rows, open, onFold }
}

function toggledIn(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  const next = new Set(set)
  if (!next.delete(item)) next.add(item)
  return next
}
