/** Every metric of a run, with its interval, both readings and what is missing. */

import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { count, interval, measure } from '../format'
import { Icon } from '../parts/Icon'
import { Num } from '../parts/Num'
import { PlainTable } from '../parts/PlainTable'
import { aggregationWords, hasTwoReadings, methodWords } from './headline'
import styles from './MetricsTable.module.css'

/** Which way is better, in words; nothing where nobody said. */
function directionWords({ directed, higher_is_better: up }: Schema<'MetricDocument'>): string {
  if (!directed) return ''
  return up ? ', higher is better' : ', lower is better'
}

export function MetricsTable({ metrics, unit }: { metrics: readonly Schema<'MetricDocument'>[]; unit?: string }) {
  return (
    <PlainTable label="Table of metrics" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Metric</th>
          <th scope="col" data-minor>
            Definition
          </th>
          <th scope="col" data-numeric>
            Value
          </th>
          <th scope="col">Interval</th>
          <th scope="col" data-numeric>
            n
          </th>
          <th scope="col" data-numeric data-minor data-tip="With all missing values counted as the worst value">
            Pessimistic
          </th>
          <th scope="col">Missing</th>
        </tr>
      </thead>
      <tbody>
        {metrics.map((metric) => (
          <MetricRow key={metric.name} metric={metric} unit={unit} />
        ))}
      </tbody>
    </PlainTable>
  )
}

function MetricRow({ metric, unit }: { metric: Schema<'MetricDocument'>; unit?: string }) {
  const missing = Object.entries(metric.missing).filter(([, some]) => some > 0)
  return (
    <tr data-primary={metric.primary || undefined}>
      <th scope="row" data-tip={aggregationWords(metric, unit) + directionWords(metric)} data-breaks>
        {metric.name} {metric.primary && <Icon name="star" size={13} label="primary metric" />}
      </th>
      <td className={styles.words} data-minor>
        {aggregationWords(metric, unit)}
        {directionWords(metric)}
      </td>
      <td data-numeric>
        <Num value={metric.value} />
      </td>
      <td data-tip={methodWords(metric)} className={styles.words}>
        {interval(metric.low, metric.high, metric.weak) || 'none'}
      </td>
      <td
        data-numeric
        data-tip={`${count(metric.n_tasks)} tasks; ${count(metric.n_worst)} counted as worst${strictWords(metric)}`}
      >
        {count(metric.n_scored)}/{count(metric.n_planned)}
      </td>
      <td data-numeric data-minor>
        {hasTwoReadings(metric) ? (
          <>
            {measure(metric.pessimistic)}{' '}
            <span className="muted">{interval(metric.pessimistic_low, metric.pessimistic_high, metric.weak)}</span>
          </>
        ) : (
          <span className="muted">–</span>
        )}
      </td>
      <td className={styles.missing}>
        {missing.map(([cause, some]) => `${count(some)} ${causeWords(cause).name.toLowerCase()}`).join(', ') || 'none'}
      </td>
    </tr>
  )
}

/** What the metric is if replies without a valid action, which the environment took, counted as worst. */
function strictWords(metric: Schema<'MetricDocument'>): string {
  if (metric.n_malformed === 0) return ''
  const reading = metric.strict === null ? '' : `; strictly valid: ${measure(metric.strict)}`
  return `; ${count(metric.n_malformed)} with an invalid reply${reading}`
}
