import type { Schema } from '../api/types'
import { count, interval, measure, plural } from '../format'
import { type Counts, VERDICTS, type Verdict } from './place'
import styles from './said.module.css'

const ORDER: Verdict[] = ['passed', 'not_passed', 'error', 'missing']

/** How the episodes that say something ended, beside all that were searched. */
export function Outcome({ page, whole }: { page: Schema<'SearchPage'>; whole: string }) {
  const { matching, searched, finished, complete } = page
  if (matching === null || searched === null) return null
  const left = (finished ?? 0) - searched.episodes
  return (
    <p className={styles.outcome} role="status">
      <strong>
        {complete ? '' : 'at least '}
        {plural(matching.episodes, 'episode')}
      </strong>
      {ORDER.filter((verdict) => matching[verdict] > 0).map((verdict) => (
        <VerdictCount key={verdict} verdict={verdict} counts={matching} />
      ))}
      {matching.accuracy !== null && (
        <span title="Share of passed among passed and not passed, with its 95 % Wilson interval">
          accuracy {measure(matching.accuracy)} {interval(matching.accuracy_low, matching.accuracy_high)}, {whole}{' '}
          {measure(searched.accuracy)}
        </span>
      )}
      {left > 0 && <span className={styles.partial}>{plural(left, 'episode')} not indexed yet, so not searched</span>}
    </p>
  )
}

function VerdictCount({ verdict, counts }: { verdict: Verdict; counts: Counts }) {
  const { glyph, word } = VERDICTS[verdict]
  return (
    <span className={styles.verdict} data-verdict={verdict}>
      <span aria-hidden="true">{glyph}</span> {count(counts[verdict])} {word}
    </span>
  )
}

/** The verdict of one episode. */
export function VerdictWord({ verdict }: { verdict: Verdict }) {
  const { glyph, word } = VERDICTS[verdict]
  return (
    <span className={styles.verdict} data-verdict={verdict}>
      <span aria-hidden="true">{glyph}</span> {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  )
}
