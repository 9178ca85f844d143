/** Least, median, mean and greatest reward on a line. */

import { measure } from '../../format'
import styles from './results.module.css'
import type { RewardFigures } from './types'

export function Spread({ figures: { min, max, mean, median, std } }: { figures: RewardFigures }) {
  if (min === max) return null
  const place = (value: number) => `${Math.max(0, Math.min(100, (100 * (value - min)) / (max - min)))}%`
  const said = `from ${measure(min)} to ${measure(max)}, median ${measure(median)}, mean ${measure(mean)} with a standard deviation of ${measure(std)}`
  return (
    <div className={styles.spread} role="img" aria-label={`Rewards ${said}`} data-tip={said}>
      <span
        className={styles.deviation}
        style={{ left: place(mean - std), right: `calc(100% - ${place(mean + std)})` }}
      />
      <span className={styles.median} style={{ left: place(median) }} />
      <span className={styles.mean} style={{ left: place(mean) }} />
    </div>
  )
}
