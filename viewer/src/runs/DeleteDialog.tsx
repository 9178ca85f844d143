import { useState } from 'react'
import { del } from '../api/client'
import { count, plural } from '../format'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Failure } from '../parts/Failure'
import { useToast } from '../parts/toast'
import styles from './Dialogs.module.css'
import type { Run } from './page'
import { runName } from './runName'

/** Runs to delete. */
interface DeleteDialogProps {
  runs: readonly Run[]
  onClose: () => void
  onDone: () => void
}

const NAMED = 5

/** Ask before runs are deleted, then delete them. */
export function DeleteDialog({ runs, onClose, onDone }: DeleteDialogProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const toast = useToast()
  const episodes = runs.reduce((sum, run) => sum + run.counts.done, 0)
  const words = plural(runs.length, 'run')
  const confirm = async () => {
    setBusy(true)
    setError(undefined)
    try {
      for (const run of runs) await del('/api/runs/{run_id}', { params: { run_id: run.id } })
      toast({ text: `Deleted ${words}.`, tone: 'good' })
      onDone()
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }
  return (
    <ConfirmDialog
      open
      danger
      busy={busy}
      title={`Delete ${words}?`}
      confirm={`Delete ${words}`}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div className={styles.body}>
        <p>
          {plural(episodes, 'episode')} with all traces and scores will be deleted. This cannot be undone. Export the
          runs first to keep a copy.
        </p>
        <ul className={styles.names}>
          {runs.slice(0, NAMED).map((run) => (
            <li key={run.id}>
              <bdi>{runName(run)}</bdi> <span className="muted">{run.benchmark}</span>
            </li>
          ))}
          {runs.length > NAMED && <li className="muted">and {count(runs.length - NAMED)} more</li>}
        </ul>
        {error !== undefined && <Failure error={error} title="Some runs were not deleted" />}
      </div>
    </ConfirmDialog>
  )
}
