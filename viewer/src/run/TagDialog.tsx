/** The tags of a run, to be changed. */

import { type FormEvent, useId, useState } from 'react'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { readTags } from '../runs/tags'
import styles from './TagDialog.module.css'

interface TagDialogProps {
  open: boolean
  tags: readonly string[]
  onSave: (tags: string[]) => void
  onClose: () => void
}

export function TagDialog({ open, tags, onSave, onClose }: TagDialogProps) {
  return (
    <Dialog open={open} title="Tags" onClose={onClose}>
      <TagForm tags={tags} onSave={onSave} onClose={onClose} />
    </Dialog>
  )
}

function TagForm({ tags, onSave, onClose }: Omit<TagDialogProps, 'open'>) {
  const [typed, setTyped] = useState(tags.join(', '))
  const id = useId()
  const save = (event: FormEvent) => {
    event.preventDefault()
    onSave(readTags(typed))
  }
  return (
    <form className={styles.form} onSubmit={save}>
      <label htmlFor={id}>Separate tags with commas</label>
      <input id={id} className={styles.field} value={typed} onChange={(event) => setTyped(event.target.value)} />
      <p className={styles.actions}>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit">
          Save
        </Button>
      </p>
    </form>
  )
}
