/** The mean reward with its interval, and how the rewards of graded samples are spread. */

import type { Schema } from '../../api/types'
import { count, measure } from '../../format'
import { Panel } from '../../parts/Panel'
import { isGoing } from '../headline'
import { FigureList } from './FigureList'
import { MetricReading } from './MetricReading'
import styles from './results.module.css'
import { Spread } from './Spread'
import type { Results } from './types'

export function RewardPanel({ results: { reward, score }, run }: { results: Results; run: Schema<'RunDetail'> }) {
  return (
    <Panel title="Rewards" note="mean of all samples">
      {score !== null && <MetricReading metric={score} going={isGoing(run)} />}
      {reward === null ? (
        <p className="muted">No graded samples.</p>
      ) : (
        <>
          <h3 className={styles.sub}>Graded samples only</h3>
          <Spread figures={reward} />
          <FigureList
            figures={[
              { label: 'Mean', value: reward.mean, form: measure, hint: 'failures excluded' },
              { label: 'Std', value: reward.std, form: measure, hint: 'of the population' },
              { label: 'Min', value: reward.min, form: measure },
              { label: 'Median', value: reward.median, form: measure },
              { label: 'Max', value: reward.max, form: measure },
              { label: 'n', value: reward.n, form: count, hint: 'graded samples' },
            ]}
          />
        </>
      )}
    </Panel>
  )
}
