import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from './CompareDifferences.module.css'
import type { Label } from './CompareLabels'
import { CompareLetter } from './CompareLetter'
import type { Comparison } from './CompareVerdict'

const LONGEST = 400

/** In which other settings the runs differ. */
export function CompareDifferences({
  comparison,
  labels,
}: {
  comparison: Comparison
  labels: ReadonlyMap<string, Label>
}) {
  const { runs, differences } = comparison
  if (differences.length === 0) {
    return (
      <Panel title="Other differences">
        <p className="muted">None. The runs have the same settings.</p>
      </Panel>
    )
  }
  return (
    <Panel title="Other differences" flush>
      <PlainTable label="Settings that differ" className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            {runs.map((run) => {
              const label = labels.get(run.id)
              return (
                <th key={run.id} scope="col" data-full={label?.name}>
                  {label && <CompareLetter letter={label.letter} colour={label.colour} />}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {differences.map(({ field, values }) => (
            <tr key={field}>
              <th scope="row">{field.replaceAll('_', ' ')}</th>
              {values.map((value, index) => (
                <td key={runs[index]?.id}>
                  <Setting value={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </PlainTable>
    </Panel>
  )
}

function Setting({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className="muted">not set</span>
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (
    <code className={styles.value} data-full={text.slice(0, 4_000)}>
      {text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}
    </code>
  )
}
