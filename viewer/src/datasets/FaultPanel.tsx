import type { Schema } from '../api/types'
import { count, sentence } from '../format'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'

/** What is wrong with a file, and what to do about it. */
export function FaultPanel({ version }: { version: Schema<'DatasetVersionDocument'> }) {
  const faults = version.faults ?? []
  const total = version.faults_total ?? faults.length
  return (
    <Panel
      title="Faults"
      note={`${total > faults.length ? `the first ${faults.length} of ${count(total)}` : `${count(total)} found`}; rows are counted from 1`}
    >
      <ul className={styles.rows}>
        {faults.map((fault) => (
          <li key={`${fault.path} ${fault.message}`} className={styles.wrong}>
            <span>
              {fault.path && (
                <>
                  <strong>{fault.path}</strong>{' '}
                </>
              )}
              <bdi>{fault.message}</bdi>
            </span>
            {fault.fix && <span className="muted">{sentence(fault.fix)}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
