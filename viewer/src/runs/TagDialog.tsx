import { type FormEvent, useId, useState } from 'react'
import { patch } from '../api/client'
import { plural } from '../format'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { Failure } from '../parts/Failure'
import { useToast } from '../parts/toast'
import styles from './Dialogs.module.css'
import { KeptTags } from './KeptTags'
import type { Run } from './page'
import { changedTags, commonTags, readTags } from './tags'

/** Runs to tag. */
interface TagDialogProps {
  runs: readonly Run[]
  onClose: () => void
  /** Told what became of the runs. */
  onDone: (runs: Run[]) => void
}

/** Add tags to runs and take some away. */
export function TagDialog({ runs, onClose, onDone }: TagDialogProps) {
  const [typed, setTyped] = useState('')
  const [removed, setRemoved] = useState<readonly string[]>([])
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const field = useId()
  const toast = useToast()
  const { all, some } = commonTags(runs)
  const added = readTags(typed)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const changed = await changeTags(runs, added, removed)
      toast({ text: 'Tags saved.', tone: 'good' })
      onDone(changed)
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }
  const toggle = (tag: string) =>
    setRemoved((before) => (before.includes(tag) ? before.filter((one) => one !== tag) : [...before, tag]))
  return (
    <Dialog
      open
      onClose={onClose}
      title={runs.length === 1 ? 'Tags' : `Tags of ${plural(runs.length, 'run')}`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            type="submit"
            form={`${field}-form`}
            busy={busy}
            disabled={added.length + removed.length === 0}
          >
            Save
          </Button>
        </>
      }
    >
      <form id={`${field}-form`} className={styles.body} onSubmit={save}>
        <label htmlFor={field}>Add tags, separated by commas</label>
        <input
          id={field}
          className={styles.input}
          value={typed}
          placeholder="nightly, baseline"
          onChange={(event) => setTyped(event.target.value)}
        />
        <KeptTags all={all} some={some} removed={removed} onToggle={toggle} />
        {error !== undefined && <Failure error={error} title="Some tags were not changed" />}
      </form>
    </Dialog>
  )
}

async function changeTags(runs: readonly Run[], added: readonly string[], removed: readonly string[]): Promise<Run[]> {
  const changed: Run[] = []
  for (const run of runs) {
    const tags = changedTags(run.tags, added, removed)
    changed.push(await patch('/api/runs/{run_id}', { params: { run_id: run.id }, body: { tags } }))
  }
  return changed
}
