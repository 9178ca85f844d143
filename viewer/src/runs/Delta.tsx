import { exact, signed } from '../format'
import { Icon } from '../parts/Icon'
import type { Run } from './page'
import styles from './RunList.module.css'

/** How far a score is from the best one: sign, direction, and whether this run is the best itself. */
export function Delta({ run }: { run: Run }) {
  const { delta, high_score, primary } = run
  if (delta === null || high_score === null) return <span className="muted">–</span>
  if (high_score.run_id === run.id) {
    return (
      <span className={styles.best} title="The best of all runs with the same benchmark content">
        <Icon name="star" size={13} />
        best
      </span>
    )
  }
  const better = delta !== 0 && delta > 0 === (primary?.higher_is_better ?? true)
  const look = delta === 0 ? 'same' : better ? 'better' : 'worse'
  const words = look === 'same' ? 'as good as the best' : `${look} than the best`
  return (
    <span className={styles.delta} data-look={look} title={`${exact(delta)}, ${words}: ${high_score.model}`}>
      {look !== 'same' && <Icon name={look === 'better' ? 'chevronUp' : 'chevronDown'} size={12} label={words} />}
      {signed(delta)}
    </span>
  )
}
