/** The head of the column of intervals: the scale's numbers. */

import { measure } from '../format'
import styles from './ScaleHead.module.css'
import { placeOn, type Scale } from './scale'

export function ScaleHead({ scale, metric }: { scale: Scale; metric: string }) {
  const middle = scale.ticks.filter((_, index, all) => all.length < 8 || index % 2 === 0)
  return (
    <div className={styles.head}>
      <span className="hidden-text">{metric} with interval</span>
      {middle.map((tick) => (
        <span key={tick} className={styles.tick} aria-hidden="true" style={{ left: `${placeOn(scale, tick) * 100}%` }}>
          {shortTick(tick)}
        </span>
      ))}
    </div>
  )
}

function shortTick(tick: number): string {
  const text = measure(tick)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
