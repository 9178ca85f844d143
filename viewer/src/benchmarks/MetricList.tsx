/** The metrics that a benchmark declares. */

import { Icon } from '../parts/Icon'
import type { MetricWords } from './metrics'
import styles from './PlainTable.module.css'

export function MetricList({ metrics }: { metrics: readonly MetricWords[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
    <section className={styles.scroll} aria-label="Table of metrics" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">What it is</th>
            <th scope="col">Range</th>
            <th scope="col">Better</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((metric) => (
            <tr key={metric.name}>
              <th scope="row">
                {metric.name} {metric.primary && <Icon name="star" size={13} label="primary metric" />}
              </th>
              <td>{metric.meaning}</td>
              <td>{metric.range || <span className="muted">not declared</span>}</td>
              <td>{metric.better}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
