import type { Schema } from '../api/types'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from './evaluate.module.css'

/** The first rows that would be run. */
export function PreviewRows({ estimate }: { estimate: Schema<'RunEstimate'> }) {
  return (
    <Panel title="First rows" flush>
      <PlainTable label="Table of the first rows">
        <thead>
          <tr>
            <th scope="col" data-numeric>
              Row, from 0
            </th>
            <th scope="col">Prompt</th>
            <th scope="col">Label</th>
          </tr>
        </thead>
        <tbody>
          {estimate.preview.map(({ row, prompt, label }) => (
            <tr key={row}>
              <td data-numeric className="number">
                {row}
              </td>
              <td>
                <span className={styles.text} data-full={prompt}>
                  {prompt}
                </span>
              </td>
              <td>
                <span className={styles.text} data-full={label}>
                  {label || '–'}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
    </Panel>
  )
}
