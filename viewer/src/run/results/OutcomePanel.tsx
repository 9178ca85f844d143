/** All planned samples by what came of them: one bar, and a filter for every part of it. */

import { count, percent, plural } from '../../format'
import { Panel } from '../../parts/Panel'
import { compact, type RunSearch } from '../search'
import type { ResultsProps } from './ResultsView'
import styles from './results.module.css'
import type { Results } from './types'
import { countWords, justBelow, type Share, sharesOf } from './words'

/** How the table shows the samples of a part; nothing where no filter means just these. */
function filterOf(id: Share['id'], results: Results, run: ResultsProps['run']): RunSearch | undefined {
  const { pass_threshold: threshold, pass_inclusive: inclusive, failures } = results
  if (id === 'failed') {
    const known = failures.filter(({ cause }) => run.failures.some((group) => group.cause === cause))
    return known.length === failures.length ? { cause: failures.map(({ cause }) => cause) } : undefined
  }
  if (id === 'skipped') return { outcome: 'skipped' }
  if (threshold === null || !inclusive) return undefined
  if (id === 'passed') return { low: threshold }
  return id === 'below' ? { high: justBelow(threshold) } : undefined
}

export function OutcomePanel({ run, results, search, onSearch }: ResultsProps & { results: Results }) {
  const { counts } = results
  const shares = sharesOf(counts, results.pass_threshold)
  const total = shares.reduce((sum, { count: some }) => sum + some, 0)
  const show = (filter: RunSearch) =>
    onSearch(compact({ slice: search.slice, slices: search.slices, ...filter, tab: 'samples' }))
  return (
    <Panel title="Samples" note={`${count(counts.done)} of ${plural(counts.planned, 'sample')} done`}>
      <p className={styles.counts}>{countWords(counts)}</p>
      <div className={styles.whole} aria-hidden="true">
        {shares.map(({ id, count: some }) => (
          <span key={id} className={styles.share} data-share={id} style={{ flexGrow: some }} hidden={some === 0} />
        ))}
      </div>
      <ul className={styles.legend}>
        {shares.map((share) => {
          const filter = filterOf(share.id, results, run)
          return (
            <li key={share.id} data-share={share.id}>
              {filter === undefined || share.count === 0 ? (
                <ShareWords share={share} total={total} />
              ) : (
                <button type="button" onClick={() => show(filter)} data-tip="Show these samples">
                  <ShareWords share={share} total={total} />
                </button>
              )}
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

function ShareWords({ share, total }: { share: Share; total: number }) {
  return (
    <>
      <strong>{count(share.count)}</strong> {share.label}{' '}
      <span className="muted">{percent(total === 0 ? 0 : share.count / total)}</span>
    </>
  )
}
