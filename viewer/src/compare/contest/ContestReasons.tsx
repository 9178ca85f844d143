/** Why scores are missing, and what must be known beside the numbers. */

import { Panel } from '../../parts/Panel'
import styles from './ContestView.module.css'
import { type Contest, reasonWords } from './contest'

export function ContestReasons({ contest }: { contest: Contest }) {
  const notes = contest.rows.flatMap((row) => {
    const a = reasonWords(row.a)
    const b = reasonWords(row.b)
    const both: [string, string][] = [
      ['A', a],
      ['B', b],
    ]
    const sides: [string, string][] = a === b ? [['A and B', a]] : both
    return [...sides, ['', row.note] as [string, string]]
      .filter(([, words]) => words !== '')
      .map(([side, words]) => ({ key: `${row.benchmark} ${side}`, benchmark: row.benchmark, side, words }))
  })
  if (notes.length === 0) return null
  return (
    <Panel title="Missing results and notes">
      <ul className={styles.reasons}>
        {notes.map(({ key, benchmark, side, words }) => (
          <li key={key}>
            <strong>{[benchmark, side].filter(Boolean).join(', ')}:</strong> {words}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
