/** The settings of a benchmark. */

import type { Schema } from '../api/types'
import { PlainTable } from '../parts/PlainTable'
import { useNarrow } from '../parts/useNarrow'
import styles from './ParameterList.module.css'
import { parameterWords } from './parameters'

export function ParameterList({ parameters }: { parameters: readonly Schema<'ParameterDocument'>[] }) {
  const narrow = useNarrow()
  if (narrow) return <NarrowList parameters={parameters} />
  return (
    <PlainTable label="Table of parameters" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">Type</th>
          <th scope="col">Default</th>
          <th scope="col">Description</th>
        </tr>
      </thead>
      <tbody>
        {parameters.map((parameter) => {
          const { type, usual, meaning, more } = parameterWords(parameter)
          return (
            <tr key={parameter.name}>
              <th scope="row">
                <code>{parameter.name}</code>
              </th>
              <td>{type}</td>
              <td>{usual === '' ? <span className="muted">–</span> : <code>{usual}</code>}</td>
              <td className={styles.meaning}>
                {meaning}
                {more !== '' && <span className="muted"> {more}</span>}
              </td>
            </tr>
          )
        })}
      </tbody>
    </PlainTable>
  )
}

/** On a phone: everything of a setting below its name. */
function NarrowList({ parameters }: { parameters: readonly Schema<'ParameterDocument'>[] }) {
  return (
    <dl className={styles.narrow}>
      {parameters.map((parameter) => {
        const { type, usual, meaning, more } = parameterWords(parameter)
        return (
          <div key={parameter.name}>
            <dt>
              <code>{parameter.name}</code>{' '}
              <span className="muted">{usual === '' ? type : `${type}, default ${usual}`}</span>
            </dt>
            <dd>
              {meaning} {more !== '' && <span className="muted">{more}</span>}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
