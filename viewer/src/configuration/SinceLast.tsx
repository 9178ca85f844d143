import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { sentence } from '../format'
import styles from '../parts/panels.module.css'
import { listName, runName } from '../runs/runName'
import { changesBetween, changeWords } from './changes'
import { DifferenceText } from './Difference'
import type { Run } from './history'

/** How a run did against the last one of its configuration before it, in a line. */
export function SinceLast({ run }: { run: Run }) {
  const found = useQuery({
    ...documentQuery('/api/runs/{run_id}/previous', { params: { run_id: run.id } }),
    staleTime: 60_000,
  }).data
  const earlier = found?.run
  if (!earlier) return null
  return (
    <section className={styles.facts} aria-label="Since the last run">
      <span>
        since{' '}
        <Link to="/runs/$runId" params={{ runId: earlier.id }} data-full={runName(earlier)}>
          <bdi>{listName(earlier)}</bdi>
        </Link>
      </span>
      {found.change ? <DifferenceText compared={found.change} /> : <span>{sentence(found.note)}</span>}
      <span>changed: {changeWords(changesBetween(earlier, run))}</span>
      <Link to="/compare" search={{ run: [earlier.id, run.id] }}>
        Compare task by task
      </Link>
    </section>
  )
}
