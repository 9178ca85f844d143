/** The settings of a benchmark. */

import type { Schema } from '../api/paths'
import { PlainTable } from '../parts/PlainTable'
import { useNarrow } from '../parts/useNarrow'
import styles from './KnobList.module.css'
import { knobWords } from './knobs'

export function KnobList({ knobs }: { knobs: readonly Schema<'KnobDocument'>[] }) {
  const narrow = useNarrow()
  if (narrow) return <NarrowList knobs={knobs} />
  return (
    <PlainTable label="Table of knobs" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Knob</th>
          <th scope="col">Type</th>
          <th scope="col">Default</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        {knobs.map((knob) => {
          const { type, usual, meaning, more } = knobWords(knob)
          return (
            <tr key={knob.name}>
              <th scope="row">
                <code>{knob.name}</code>
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
function NarrowList({ knobs }: { knobs: readonly Schema<'KnobDocument'>[] }) {
  return (
    <dl className={styles.narrow}>
      {knobs.map((knob) => {
        const { type, usual, meaning, more } = knobWords(knob)
        return (
          <div key={knob.name}>
            <dt>
              <code>{knob.name}</code>{' '}
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
