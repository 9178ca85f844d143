import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { interval, measure } from '../format'
import { Badge } from '../parts/Badge'
import { type State, Status } from '../parts/Status'
import { ListName } from '../runs/ListName'
import styles from './schedules.module.css'

/** A run that a schedule owed: where it is and how it went, or why it was not submitted. */
export function LastRun({ run, fault = true }: { run: Schema<'ScheduledRunDocument'> | null; fault?: boolean }) {
  if (run === null) return <span className="muted">–</span>
  if (run.run_id === null || run.run_status === '') {
    return (
      <>
        <Badge tone={run.status === 'refused' ? 'bad' : 'idle'} icon={run.status === 'refused' ? 'error' : 'clock'}>
          {run.status === 'submitted' ? 'deleted' : run.status}
        </Badge>
        {fault && run.fault !== '' && <span className={styles.fault}>{run.fault}</span>}
      </>
    )
  }
  return (
    <>
      <Status state={run.run_status as State} />{' '}
      <Link to="/runs/$runId" params={{ runId: run.run_id }} data-full={run.run_name}>
        <ListName run={{ id: run.run_id, name: run.run_name }} />
      </Link>
      {run.score !== null && (
        <span className={styles.second}>
          {measure(run.score)} {interval(run.score_low, run.score_high, run.score_weak)}
        </span>
      )}
    </>
  )
}
