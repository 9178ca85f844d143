/** What a benchmark needs of a machine, and what of it is missing here. */

import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import { useNarrow } from '../parts/useNarrow'
import styles from './ParameterList.module.css'

export function RequirementList({ requirements }: { requirements: readonly Schema<'RequirementDocument'>[] }) {
  const narrow = useNarrow()
  if (narrow) return <NarrowList requirements={requirements} />
  return (
    <PlainTable label="Table of requirements" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Requirement</th>
          <th scope="col">Available</th>
          <th scope="col">Reason</th>
          <th scope="col">Not required with</th>
        </tr>
      </thead>
      <tbody>
        {requirements.map(({ kind, name, why, unless, lacking }) => (
          <tr key={`${kind} ${name}`}>
            <th scope="row">
              <Needed kind={kind} name={name} />
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

/** On a phone: everything of a requirement below its name. */
function NarrowList({ requirements }: { requirements: readonly Schema<'RequirementDocument'>[] }) {
  return (
    <dl className={styles.narrow}>
      {requirements.map(({ kind, name, why, unless, lacking }) => (
        <div key={`${kind} ${name}`}>
          <dt>
            <Needed kind={kind} name={name} /> <Here lacking={lacking} />
          </dt>
          <dd className="muted">
            {[why, unless.length > 0 && `not required with ${unless.join(', ')}`].filter(Boolean).join('; ')}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Needed({ kind, name }: { kind: string; name: string }) {
  if (kind === 'disk') return `disk, ${name} GB`
  return (
    <>
      {kind} {name !== '' && <code>{name}</code>}
    </>
  )
}

function Here({ lacking }: { lacking: string | null }) {
  if (lacking === null) return <span className="muted">…</span>
  if (lacking === '') {
    return (
      <Badge tone="good" icon="check">
        available
      </Badge>
    )
  }
  return (
    <Badge tone="warn" icon="warning" title={lacking}>
      missing
    </Badge>
  )
}
