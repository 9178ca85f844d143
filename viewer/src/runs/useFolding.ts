import { useCallback, useMemo, useState } from 'react'
import { groupedRows, type ListRow, type Run, rowsOf } from './page'

/** What of a list is folded away: older attempts at the same, and the runs of benchmarks. */
interface Folding {
  /** The rows, when anything can be folded. */
  rows: ListRow[] | undefined
  /** Signatures of which all attempts are shown. */
  open: ReadonlySet<string>
  onFold: (signature: string) => void
  onClose: (benchmark: string) => void
}

/** Fold runs of the same signature while `folded`, and put them below their benchmarks while `grouped`. */
export function useFolding(runs: readonly Run[], folded: boolean, grouped: boolean): Folding {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const onFold = useCallback((signature: string) => setOpen((before) => toggledIn(before, signature)), [])
  const onClose = useCallback((benchmark: string) => setClosed((before) => toggledIn(before, benchmark)), [])
  const rows = useMemo(() => {
    if (!folded && !grouped) return undefined
    const alone = rowsOf(runs, folded, open)
    return grouped ? groupedRows(alone, closed) : alone
  }, [folded, grouped, runs, open, closed])
  return { rows, open, onFold, onClose }
}

function toggledIn(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  const next = new Set(set)
  if (!next.delete(item)) next.add(item)
  return next
}
