import type { Schema } from '../api/types'
import { PlainTable } from '../parts/PlainTable'
import { type Optional, RunRow } from './RunRow'
import styles from './RunRow.module.css'

/** A few runs of the server; `hide` leaves out what is the same in all of them. */
interface RunTableProps {
  label: string
  runs: readonly Schema<'RunSummary'>[]
  hide?: readonly Optional[]
}

/** Runs with their state, score and owner. */
export function RunTable({ label, runs, hide = [] }: RunTableProps) {
  const shown = (column: Optional) => !hide.includes(column)
  return (
    <PlainTable label={label} className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Run</th>
          {shown('domain') && <th scope="col">Domain</th>}
          <th scope="col">State</th>
          <th scope="col" data-breaks>
            Score
          </th>
          <th scope="col" data-minor>
            Episodes
          </th>
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
