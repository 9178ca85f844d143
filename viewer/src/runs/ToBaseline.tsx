import type { Schema } from '../api/types'
import { interval, sentence, signed } from '../format'
import styles from './ToBaseline.module.css'

export type Standing = Schema<'StandingDocument'>

const WORDS: Record<Exclude<Standing['state'], 'difference'>, string> = {
  baseline: 'baseline',
  other_tasks: 'other tasks',
  few_tasks: 'few tasks',
  no_score: '–',
  no_baseline: '–',
  going_on: '–',
  builtin: '–',
}

/** The difference of a run to the baseline of its benchmark, or why there is none. */
export function ToBaseline({ standing }: { standing: Standing | undefined }) {
  if (standing === undefined) return <span className="muted">–</span>
  if (standing.state !== 'difference') {
    return (
      <span className={styles.words} data-tip={sentence(standing.why)}>
        {WORDS[standing.state]}
      </span>
    )
  }
  const { delta, low, high, weak, better, why } = standing
  const verdict = better === null ? 'no difference shown' : better ? 'better' : 'worse'
  return (
    <span
      className="number"
      data-better={better ?? undefined}
      data-tip={`${signed(delta)} ${interval(low, high, weak)}, ${verdict}\n${sentence(why)}`}
    >
      <span className={styles.delta} data-better={better ?? undefined}>
        {signed(delta)}
      </span>
      <span className="hidden-text"> {verdict}</span>
    </span>
  )
}
