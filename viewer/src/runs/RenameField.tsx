import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { patch } from '../api/client'
import { useToast } from '../parts/toast'
import type { Run } from './page'
import styles from './RenameField.module.css'
import { runName } from './runName'

/** A field in place of a run's name. */
interface RenameFieldProps {
  run: Run
  /** Told what became of the run; undefined when nothing did. */
  onDone: (run: Run | undefined) => void
}

/** Give a run a name: Enter saves, Escape leaves it; an empty one gives the run its own name back. */
export function RenameField({ run, onDone }: RenameFieldProps) {
  const [name, setName] = useState(run.name)
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const toast = useToast()
  useEffect(() => field.current?.select(), [])
  const save = async () => {
    if (busy) return
    if (name.trim() === run.name.trim()) return onDone(undefined)
    setBusy(true)
    try {
      onDone(await patch('/api/runs/{run_id}', { params: { run_id: run.id }, body: { name } }))
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : 'The run could not be renamed.', tone: 'bad' })
      setBusy(false)
      field.current?.focus()
    }
  }
  const press = (event: KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Enter') void save()
    if (event.key === 'Escape') onDone(undefined)
  }
  return (
    <input
      ref={field}
      className={styles.field}
      aria-label={`Name of run ${runName(run)}`}
      maxLength={200}
      value={name}
      placeholder={runName({ ...run, name: '' })}
      readOnly={busy}
      onChange={(event) => setName(event.target.value)}
      onKeyDown={press}
      onBlur={() => void save()}
    />
  )
}
