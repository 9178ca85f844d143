import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Empty } from '../parts/Empty'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { runWord } from '../run/headline'
import styles from './FailureTable.module.css'

/** Runs that failed or were stopped lately. */
export function FailureTable({ failures }: { failures: Schema<'StatusDocument'>['recent_failures'] }) {
  if (failures.length === 0) return <Empty title="No recent failures" />
  return (
    <PlainTable label="Table of failures">
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Status</th>
          <th scope="col">Owner</th>
          <th scope="col">Time</th>
          <th scope="col">Error</th>
        </tr>
      </thead>
      <tbody>
        {failures.map((one) => (
          <tr key={one.run_id}>
            <th scope="row">
              <Link to="/runs/$runId" params={{ runId: one.run_id }}>
                {one.model}
              </Link>
            </th>
            <td>{runWord(one.status)}</td>
            <td>{one.actor_id}</td>
            <td>
              <When at={one.ended_at} />
            </td>
            <td className={styles.why} data-full={one.reason}>
              {one.reason || '–'}
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
