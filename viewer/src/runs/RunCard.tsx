import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { When } from '../parts/When'
import { Errors, rangeWords, Scored } from './numbers'
import { Outcome } from './Outcome'
import type { Row } from './page'
import styles from './RunCard.module.css'
import { RunLink } from './RunLink'
import { RunScore } from './RunScore'
import { ScaleBar } from './ScaleBar'
import type { Scale } from './scale'
import { type Standing, ToBaseline } from './ToBaseline'

/** One card. */
interface RunCardProps {
  row: Row
  scale: Scale | undefined
  standing: Standing | undefined
  open: boolean
  onFold: (signature: string) => void
}

/** A run as a card. */
export function RunCard({ row, scale, standing, open, onFold }: RunCardProps) {
  const { run } = row
  return (
    <div className={styles.card} data-nested={row.nested || undefined}>
      <div className={styles.top}>
        <RunLink row={row} open={open} onFold={onFold} />
      </div>
      <div className={styles.line}>
        <Outcome run={run} />
        {run.counts.errors > 0 && <Errors run={run} />}
      </div>
      <div className={styles.line}>
        <RunScore run={run} />
        <span className="number muted">{rangeWords(run.primary)}</span>
        <span className={styles.end}>
          {standing && <ToBaseline standing={standing} />}
          <span className="muted">n </span>
          <Scored run={run} />
        </span>
      </div>
      <div className={styles.line}>
        <ScaleBar run={run} scale={scale} floor={standing?.floor} ceiling={standing?.ceiling} />
      </div>
      <p className={styles.facts}>
        <Money usd={run.usage.cost_usd} />
        <Duration seconds={run.duration_s} />
        <When at={run.created_at} />
      </p>
    </div>
  )
}
