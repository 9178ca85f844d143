import type { Schema } from '../api/types'
import { sentence } from '../format'
import styles from '../parts/panels.module.css'

/** What is to mend in a commit, with file and line. */
export function FaultList({ faults }: { faults: Schema<'SyncDetail'>['faults'] }) {
  return (
    <ul className={styles.rows} aria-label="Faults">
      {faults.map((fault) => (
        <li key={`${fault.path} ${fault.line} ${fault.message}`} className={styles.wrong}>
          <span>
            {fault.path && (
              <>
                <strong>
                  <bdi>{fault.line ? `${fault.path}, line ${fault.line}` : fault.path}</bdi>
                </strong>{' '}
              </>
            )}
            <bdi>{fault.message}</bdi>
          </span>
          {fault.fix && <span className="muted">{sentence(fault.fix)}</span>}
        </li>
      ))}
    </ul>
  )
}
