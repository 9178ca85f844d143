import { Link } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { IconButton } from '../parts/IconButton'
import { Skeleton } from '../parts/Skeleton'
import { Unfinished } from '../parts/Unfinished'
import { ModelName } from '../runs/ModelName'
import { runName, shortId } from '../runs/runName'
import { colourOf, letterOf } from './CompareLabels'
import { CompareLetter } from './CompareLetter'
import styles from './CompareRuns.module.css'

/** One of the compared runs. */
interface CompareRunProps {
  id: string
  index: number
  run: Schema<'RunSummary'> | undefined
  /** The comparison, which tells of it, is on its way. */
  waiting: boolean
  onBaseline: () => void
  onRemove: () => void
}

/** A compared run: who it is, whether it is the baseline, how to take it away. */
export function CompareRun({ id, index, run, waiting, onBaseline, onRemove }: CompareRunProps) {
  const called = run ? runName(run) : shortId(id)
  return (
    <div className={styles.run}>
      <CompareLetter letter={letterOf(index)} colour={colourOf(index)} />
      {run ? <Words run={run} baseline={index === 0} /> : waiting ? <Waiting /> : <Alone id={id} />}
      <span className={styles.buttons}>
        {index > 0 && <IconButton icon="star" size="sm" label={`Make ${called} the baseline`} onClick={onBaseline} />}
        <IconButton icon="close" size="sm" label={`Remove ${called}`} onClick={onRemove} />
      </span>
    </div>
  )
}

function Words({ run, baseline }: { run: Schema<'RunSummary'>; baseline: boolean }) {
  return (
    <span className={styles.words}>
      <span className={styles.first}>
        <Link to="/runs/$runId" params={{ runId: run.id }} data-tip={`${run.model}\n${run.id}`}>
          <ModelName model={run.model} short />
        </Link>
        <Unfinished run={run} />
      </span>
      <span className={styles.second}>
        {baseline && <strong>baseline · </strong>}
        <bdi>{runName(run)}</bdi>
        {run.name.trim() !== '' && (
          <>
            {' '}
            · <bdi>{run.benchmark_title || run.benchmark}</bdi>
          </>
        )}
      </span>
    </span>
  )
}

/** A run of which the comparison does not tell: it stands alone, or the comparison failed. */
function Alone({ id }: { id: string }) {
  const { data, error } = useDocument('/api/runs/{run_id}', { params: { run_id: id } })
  if (data) return <Words run={data} baseline={false} />
  if (error) {
    return (
      <span className={styles.words}>
        <code>{shortId(id)}</code>
        <span className={styles.second}>{error.message}</span>
      </span>
    )
  }
  return <Waiting />
}

function Waiting() {
  return (
    <span className={styles.words}>
      <Skeleton width="9rem" />
      <Skeleton width="12rem" />
    </span>
  )
}
