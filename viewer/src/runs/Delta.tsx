import { exact, signed } from '../format'
import { Icon } from '../parts/Icon'
import type { Run } from './page'
import styles from './RunList.module.css'
import { useStanding } from './useStanding'

/** How far a score is from the best one: sign, direction, and whether this run is the best of several. */
export function Delta({ run }: { run: Run }) {
  const { delta, high_score, primary } = run
  const standing = useStanding(run)
  if (delta === null || high_score === null) return <span className="muted">–</span>
  if (high_score.run_id === run.id) {
    if (standing === undefined) return <span className="muted">–</span>
    if (standing === 'only') {
      return (
        <span className="muted" title="No other run with the same benchmark content has a score">
          only run
        </span>
      )
    }
    return (
      <span className={styles.best} data-look={standing} title="The best of all runs with the same benchmark content">
        {standing === 'best' && <Icon name="star" size={13} />}
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
