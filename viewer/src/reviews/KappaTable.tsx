import type { Schema } from '../api/types'
import { count, measure } from '../format'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import { KappaScale } from './KappaScale'
import { digits, ends } from './kappa'
import styles from './reviews.module.css'

interface KappaTableProps {
  title: string
  note: string
  pairs: readonly Schema<'PairDocument'>[]
  /** Why there are none. */
  empty: string
  chosen?: string
  onChoose?: (other: string) => void
}

/** Agreement of pairs: how many items, the share of equal verdicts, κ with its interval on a scale. */
export function KappaTable({ title, note, pairs, empty, chosen, onChoose }: KappaTableProps) {
  return (
    <Panel title={title} note={note} flush>
      {pairs.length === 0 ? (
        <p className={styles.none}>{empty}</p>
      ) : (
        <PlainTable label={`${title}, the table`} className={styles.kappa}>
          <thead>
            <tr>
              <th scope="col">One</th>
              <th scope="col">Other</th>
              <th scope="col" data-numeric>
                n
              </th>
              <th scope="col" data-numeric>
                Agreement
              </th>
              <th scope="col" data-numeric>
                κ
              </th>
              <th scope="col" data-numeric data-minor>
                95 %
              </th>
              <th scope="col" data-minor className={styles.scaleHead}>
                <span>0</span>
                <span>1</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pairs.map((pair) => (
              <tr key={`${pair.one} ${pair.other}`} data-chosen={chosen === pair.other || undefined}>
                <td>
                  <bdi>{pair.one}</bdi>
                </td>
                <td>
                  {onChoose ? (
                    <button
                      type="button"
                      className={styles.pick}
                      aria-pressed={chosen === pair.other}
                      onClick={() => onChoose(pair.other)}
                    >
                      <bdi>{pair.other}</bdi>
                    </button>
                  ) : (
                    <bdi>{pair.other}</bdi>
                  )}
                </td>
                <td data-numeric>{count(pair.n)}</td>
                <td data-numeric>{pair.observed === null ? '–' : measure(pair.observed)}</td>
                {pair.kappa === null ? (
                  <td colSpan={3} className={styles.why}>
                    {pair.why}
                  </td>
                ) : (
                  <>
                    <td data-numeric>
                      <strong>{digits(pair.kappa.value)}</strong>
                    </td>
                    <td data-numeric data-minor className="muted" data-tip={pair.why || undefined}>
                      {ends(pair.kappa)}
                    </td>
                    <td data-minor>
                      <KappaScale kappa={pair.kappa} />
                    </td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </PlainTable>
      )}
    </Panel>
  )
}
