import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'

/** Marks a run of a server that was played elsewhere; nothing for other runs. */
export function ImportedBadge({ imported }: { imported: Schema<'Imported'> | null | undefined }) {
  if (imported == null) return null
  return (
    <Badge tone="warn" title={importedTitle(imported)}>
      imported
    </Badge>
  )
}

/** What the mark means. */
function importedTitle({ by, host, recomputed }: Schema<'Imported'>): string {
  const who = by === null ? '' : ` by ${by}`
  const where = host === null || host === '' ? '' : ` from ${host}`
  return `Played elsewhere and pushed${who}${where}, not played by this server. ${checkedWords(recomputed)}`
}

/** What the server did with the numbers of an imported run. */
export function checkedWords(recomputed: boolean): string {
  return recomputed
    ? 'Every number was computed again here, from the recorded episodes.'
    : 'Its numbers came with a file and could not be computed again.'
}
