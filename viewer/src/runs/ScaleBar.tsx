import type { Schema } from '../api/types'
import { interval, measure } from '../format'
import type { Run } from './page'
import styles from './ScaleBar.module.css'
import type { Scale } from './scale'

type Bound = Schema<'BoundDocument'>

/** A score with its interval between floor and ceiling of its benchmark. */
interface ScaleBarProps {
  run: Run
  scale: Scale | undefined
  floor: Bound | null | undefined
  ceiling: Bound | null | undefined
}

/** The score of a run on a scale that all runs of the list share; brackets are what built-in agents reach. */
export function ScaleBar({ run, scale = [0, 1], floor, ceiling }: ScaleBarProps) {
  const metric = run.primary
  if (metric === null || metric.value === null) return null
  const [from, to] = scale
  const place = (at: number) => `${Math.max(0, Math.min(100, (100 * (at - from)) / (to - from || 1)))}%`
  const words = [
    `${measure(metric.value)} ${interval(metric.low, metric.high, metric.weak)}`,
    boundWords('floor', floor),
    boundWords('ceiling', ceiling),
  ].filter(Boolean)
  return (
    <span className={styles.scale} role="img" aria-label={words.join(', ')} data-tip={words.join('\n')}>
      {floor && ceiling && (
        <span
          className={styles.between}
          style={{ left: place(floor.value), right: `calc(100% - ${place(ceiling.value)})` }}
        />
      )}
      {floor && <span className={styles.floor} style={{ left: place(floor.value) }} />}
      {ceiling && <span className={styles.ceiling} style={{ left: place(ceiling.value) }} />}
      {metric.low !== null && metric.high !== null && (
        <span
          className={styles.range}
          style={{ left: place(metric.low), right: `calc(100% - ${place(metric.high)})` }}
        />
      )}
      <span className={styles.point} style={{ left: place(metric.value) }} />
    </span>
  )
}

function boundWords(role: string, bound: Bound | null | undefined): string {
  if (bound == null) return ''
  const tasks = bound.same_tasks ? '' : ', other tasks'
  return `${role} ${measure(bound.value)} (${agentName(bound.model)}, n ${bound.n}${tasks})`
}

/** `builtin/random` is `random`. */
export function agentName(model: string): string {
  return model.replace(/^builtin\//, '')
}
