import type { Schema } from '../api/types'
import { count, interval, measure, plural } from '../format'
import { Icon } from '../parts/Icon'
import { VERDICTS } from '../parts/Verdict'
import { keysOf } from '../search'
import styles from './said.module.css'

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
      {keysOf(VERDICTS)
        .filter((verdict) => matching[verdict] > 0)
        .map((verdict) => (
          <span key={verdict} className={styles.verdict} data-verdict={verdict}>
            <Icon name={VERDICTS[verdict].icon} size={13} /> {count(matching[verdict])}{' '}
            {VERDICTS[verdict].words.toLowerCase()}
          </span>
        ))}
      {matching.accuracy !== null && (
        <span data-tip="Share of passed among passed and not passed, with its 95 % Wilson interval">
          accuracy {measure(matching.accuracy)}{' '}
          {interval(matching.accuracy_low, matching.accuracy_high, matching.accuracy_weak)}, {whole}{' '}
          {measure(searched.accuracy)}
        </span>
      )}
      {left > 0 && <span className={styles.partial}>{plural(left, 'episode')} not indexed yet, so not searched</span>}
    </p>
  )
}
