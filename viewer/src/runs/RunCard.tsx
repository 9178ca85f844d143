import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { When } from '../parts/When'
import { ModelName } from './ModelName'
import type { Row } from './page'
import styles from './RunCard.module.css'
import { RunLink } from './RunLink'
import { RunScore } from './RunScore'
import { RunState } from './RunState'
import type { Scale } from './scale'

/** One card. */
interface RunCardProps {
  row: Row
  scale: Scale | undefined
  open: boolean
  onFold: (signature: string) => void
}

/** A run as a card. */
export function RunCard({ row, scale, open, onFold }: RunCardProps) {
  const { run } = row
  return (
    <div className={styles.card} data-nested={row.nested || undefined}>
      <div className={styles.top}>
        <RunLink row={row} open={open} onFold={onFold} />
        <RunState run={run} />
      </div>
      <p className={styles.what} title={run.benchmark_title}>
        <bdi>{run.benchmark_title || run.benchmark}</bdi>
        <span aria-hidden="true"> · </span>
        <ModelName model={run.model} short />
      </p>
      <RunScore run={run} scale={scale} />
      <p className={styles.facts}>
        <Money usd={run.usage.cost_usd} />
        <Duration seconds={run.duration_s} />
        <When at={run.created_at} />
      </p>
    </div>
  )
}
