/** Episodes by outcome, as bars that filter the table. */

import { count, percent } from '../format'
import styles from './OutcomeBars.module.css'
import type { OutcomeBar } from './series'

interface OutcomeBarsProps {
  bars: readonly OutcomeBar[]
  total: number
  isChosen: (bar: OutcomeBar) => boolean
  onChoose: (bar: OutcomeBar) => void
}

export function OutcomeBars({ bars, total, isChosen, onChoose }: OutcomeBarsProps) {
  return (
    <ul className={styles.bars}>
      {bars.map((bar) => (
        <li key={bar.label}>
          <button
            type="button"
            className={styles.bar}
            aria-pressed={isChosen(bar)}
            data-tip="Show these episodes"
            onClick={() => onChoose(bar)}
          >
            <span className={styles.label}>{bar.label}</span>{' '}
            <span className={styles.track} aria-hidden="true">
              <span
                className={styles.fill}
                data-tone={bar.tone}
                style={{ width: `${total > 0 ? (bar.count / total) * 100 : 0}%` }}
              />
            </span>
            <span className={styles.count}>{count(bar.count)}</span>{' '}
            <span className={styles.share}>{percent(total > 0 ? bar.count / total : 0)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
