import type { Schema } from '../api/types'
import { When } from '../parts/When'
import styles from './AuditList.module.css'
import { detailWords, shortObject } from './audit'

/** An entry of the audit log, and who is meant by its ids. */
interface AuditEntryProps {
  entry: Schema<'AuditRow'>
  /** Names by `user:ID`. */
  names: ReadonlyMap<string, string>
}

/** An entry as a row of the table. */
export function AuditRow({ entry, names }: AuditEntryProps) {
  return (
    <tr>
      <td data-breaks>
        <When at={entry.at} />
      </td>
      <td>
        <Named id={entry.actor} names={names} />
      </td>
      <th scope="row" data-breaks>
        {entry.action}
      </th>
      <td data-breaks>
        <Named id={entry.object} names={names} />
      </td>
      <td className={styles.more} data-minor>
        {detailWords(entry.detail)}
      </td>
      <td data-minor>{entry.address}</td>
    </tr>
  )
}

/** An entry on a phone: what was done and when, then who did it to what. */
export function NarrowAuditRow({ entry, names }: AuditEntryProps) {
  const more = [detailWords(entry.detail), entry.address && `from ${entry.address}`].filter(Boolean).join(', ')
  return (
    <li>
      <p className={styles.what}>
        <strong>{entry.action}</strong> <When at={entry.at} />
      </p>
      <p>
        <Named id={entry.actor} names={names} />
        {entry.object !== '' && entry.object !== entry.actor && (
          <>
            {' → '}
            <Named id={entry.object} names={names} />
          </>
        )}
      </p>
      {more !== '' && <p className="muted">{more}</p>}
    </li>
  )
}

function Named({ id, names }: { id: string; names: ReadonlyMap<string, string> }) {
  return <bdi data-full={id}>{names.get(id) ?? shortObject(id)}</bdi>
}
