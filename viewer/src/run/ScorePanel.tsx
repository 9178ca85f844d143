/** The headline score: large, with its interval, and in words what it counts. */

import type { Schema } from '../api/paths'
import { exact, interval, measure } from '../format'
import { Panel } from '../parts/Panel'
import { aggregationWords, headline, methodWords } from './headline'
import styles from './ScorePanel.module.css'

export function ScorePanel({ run }: { run: Schema<'RunDetail'> }) {
  const { metric, note, sentences } = headline(run)
  const others = run.metrics.filter(({ name }) => name !== metric?.name)
  return (
    <Panel title={metric?.name ?? 'Score'} note={metric === null ? undefined : aggregationWords(metric)}>
      {metric === null || metric.value === null ? (
        <p className={styles.none}>{note}</p>
      ) : (
        <>
          <p className={styles.score}>
            <strong title={exact(metric.value)}>{measure(metric.value)}</strong>
            <span className={styles.interval} title={methodWords(metric)}>
              {interval(metric.low, metric.high) || 'no interval'}
            </span>
            <span className={styles.n} title={`${methodWords(metric)}; scored of planned episodes`}>
              n = {metric.n_scored.toLocaleString('en')}/{metric.n_planned.toLocaleString('en')}
            </span>
          </p>
          <ul className={styles.words}>
            {sentences.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
            {!metric.higher_is_better && <li>Less is better.</li>}
          </ul>
        </>
      )}
      {others.length > 0 && (
        <dl className={styles.others}>
          {others.slice(0, 3).map((other) => (
            <div key={other.name}>
              <dt>{other.name}</dt>
              <dd title={`${exact(other.value)}, ${methodWords(other)}`}>
                {measure(other.value)} <span className="muted">{interval(other.low, other.high)}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
