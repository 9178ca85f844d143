/** What a benchmark needs of a machine, and what of it is missing here. */

import type { Schema } from '../api/paths'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import styles from './KnobList.module.css'

export function RequirementList({ requirements }: { requirements: readonly Schema<'RequirementDocument'>[] }) {
  return (
    <PlainTable label="Table of requirements" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Needs</th>
          <th scope="col">Here</th>
          <th scope="col">Why</th>
          <th scope="col">Not needed with</th>
        </tr>
      </thead>
      <tbody>
        {requirements.map(({ kind, name, why, unless, lacking }) => (
          <tr key={`${kind} ${name}`}>
            <th scope="row">
              {kind === 'disk' ? `disk, ${name} GB` : kind} {name !== '' && kind !== 'disk' && <code>{name}</code>}
            </th>
            <td>
              <Here lacking={lacking} />
            </td>
            <td className={styles.meaning}>{why || <span className="muted">–</span>}</td>
            <td>{unless.length > 0 ? <code>{unless.join(', ')}</code> : <span className="muted">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}

function Here({ lacking }: { lacking: string | null }) {
  if (lacking === null) return <span className="muted">…</span>
  if (lacking === '') {
    return (
      <Badge tone="good" icon="check">
        there
      </Badge>
    )
  }
  return (
    <Badge tone="warn" icon="warning" title={lacking}>
      missing
    </Badge>
  )
}
