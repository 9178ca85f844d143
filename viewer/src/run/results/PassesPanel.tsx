/** Of k tries of a row: that at least one passes (pass@k), and that all of them do (pass^k). */

import { useState } from 'react'
import { count, interval, measure } from '../../format'
import { Panel } from '../../parts/Panel'
import { PlainTable } from '../../parts/PlainTable'
import { TextButton } from '../../parts/TextButton'
import { PassesChart } from './PassesChart'
import styles from './results.module.css'
import type { Chance, Passes } from './types'

/** Rows of the table before it is opened. */
const SHOWN = 5

export function PassesPanel({ passes }: { passes: readonly Passes[] }) {
  const [all, setAll] = useState(false)
  return (
    <Panel title="pass@k and pass^k" note="k trials of a row: at least one passes, all pass">
      <PassesChart passes={passes} />
      <PlainTable label="Table of pass@k and pass^k" className={styles.passes}>
        <thead>
          <tr>
            <th scope="col" data-numeric>
              k
            </th>
            <th scope="col" data-tip="At least one of k trials passes">
              pass@k
            </th>
            <th scope="col" data-tip="All of k trials pass">
              pass^k
            </th>
            <th scope="col" data-numeric data-tip="Rows with at least k trials">
              rows
            </th>
          </tr>
        </thead>
        <tbody>
          {passes.slice(0, all ? undefined : SHOWN).map(({ k, pass_at_k: one, pass_hat_k: every }) => (
            <tr key={k}>
              <th scope="row" data-numeric>
                {k}
              </th>
              <td>
                <Value estimate={one} />
              </td>
              <td>
                <Value estimate={every} />
              </td>
              <td data-numeric>{count(one.tasks)}</td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      {passes.length > SHOWN && (
        <TextButton onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Fewer' : `All ${passes.length}`}
        </TextButton>
      )}
    </Panel>
  )
}

function Value({ estimate: { value, low, high, weak, pessimistic } }: { estimate: Chance }) {
  return (
    <>
      <span data-tip={pessimisticWords(pessimistic)}>{measure(value)}</span>{' '}
      <span className="muted">{interval(low, high, weak)}</span>
    </>
  )
}

function pessimisticWords(value: number | null): string | undefined {
  return value === null ? undefined : `${measure(value)} with missing trials counted as not passed`
}
