import type { Schema } from '../api/types'
import { PlainTable } from '../parts/PlainTable'
import { useNarrow } from '../parts/useNarrow'
import { isGoing } from '../run/headline'
import { type Optional, RunRow } from './RunRow'
import styles from './RunRow.module.css'

/** A few runs of the server; `hide` leaves out what is the same in all of them. */
interface RunTableProps {
  label: string
  runs: readonly Schema<'RunSummary'>[]
  hide?: readonly Optional[]
}

/** Runs with their state, score and owner; how far they are, while any of them goes on. */
export function RunTable({ label, runs, hide = [] }: RunTableProps) {
  const narrow = useNarrow()
  const going = runs.some(isGoing)
  const shown = (column: Optional) =>
    !hide.includes(column) && (column !== 'progress' || going) && (column !== 'state' || !narrow)
  return (
    <PlainTable label={label} className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Run</th>
          {shown('domain') && <th scope="col">Domain</th>}
          {shown('state') && <th scope="col">State</th>}
          <th scope="col" data-breaks>
            Score
          </th>
          {shown('progress') && (
            <th scope="col" data-minor>
              Episodes
            </th>
          )}
          {shown('owner') && (
            <th scope="col" data-minor>
              By
            </th>
          )}
          {shown('visibility') && (
            <th scope="col" data-minor>
              Visibility
            </th>
          )}
          <th scope="col" data-minor>
            Started
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.id} run={run} shown={shown} />
        ))}
      </tbody>
    </PlainTable>
  )
}
