import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useId, useState } from 'react'
import { del, put } from '../api/client'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { Failure } from '../parts/Failure'
import { IconButton } from '../parts/IconButton'
import { useToast } from '../parts/toast'
import { place } from '../place'
import { useMe } from '../session/useMe'
import dialog from './Dialogs.module.css'
import styles from './SavedViews.module.css'
import type { RunsSearch } from './search'
import { readGroup, readView, viewText } from './views'

/** All runs, and the searches that a person has kept. */
export function SavedViews({ search }: { search: RunsSearch }) {
  const me = useMe()
  const allowed = source.live && (place.mode !== 'server' || (me !== undefined && me.type !== 'anonymous'))
  const views = (useQuery({ ...documentQuery('/api/views'), enabled: allowed }).data ?? []).filter(
    ({ search: kept }) => readGroup(kept) === undefined,
  )
  const [saving, setSaving] = useState(false)
  const client = useQueryClient()
  const toast = useToast()
  if (!allowed) return null
  const now = viewText(search)
  const current = views.find((view) => viewText(readView(view.search)) === now)
  const remove = async (name: string) => {
    try {
      await del('/api/views/{name}', { params: { name } })
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : 'The view could not be deleted.', tone: 'bad' })
    }
    void client.invalidateQueries({ queryKey: ['/api/views'] })
  }
  return (
    <nav className={styles.views} aria-label="Views">
      <Link to="/" search={{}} className={styles.view} aria-current={now === '' ? 'page' : undefined}>
        All runs
      </Link>
      {views.map((view) => (
        <span key={view.name} className={styles.kept}>
          <Link
            to="/"
            search={readView(view.search)}
            className={styles.view}
            aria-current={view === current ? 'page' : undefined}
          >
            <bdi>{view.name}</bdi>
          </Link>
          {view === current && (
            <IconButton
              icon="close"
              size="sm"
              label={`Delete view ${view.name}`}
              onClick={() => void remove(view.name)}
            />
          )}
        </span>
      ))}
      {now !== '' && current === undefined && (
        <Button look="quiet" icon="plus" onClick={() => setSaving(true)}>
          Save this view
        </Button>
      )}
      {saving && <SaveDialog search={now} onClose={() => setSaving(false)} />}
    </nav>
  )
}

function SaveDialog({ search, onClose }: { search: string; onClose: () => void }) {
  const [name, setName] = useState('')
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const field = useId()
  const save = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await put('/api/views/{name}', { params: { name: name.trim() }, body: { search } })
      void client.invalidateQueries({ queryKey: ['/api/views'] })
      onClose()
    } catch (problem) {
      setError(problem)
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save this view"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={`${field}-form`} disabled={name.trim() === ''}>
            Save
          </Button>
        </>
      }
    >
      <form id={`${field}-form`} className={dialog.body} onSubmit={save}>
        <label htmlFor={field}>Name of the view</label>
        <input
          id={field}
          className={dialog.input}
          maxLength={100}
          value={name}
          placeholder="Needs a look"
          onChange={(event) => setName(event.target.value)}
        />
        <p className="muted">
          It keeps filters, order, columns and grouping. The address of the page holds all of it too.
        </p>
        {error !== undefined && <Failure error={error} title="The view was not saved" />}
      </form>
    </Dialog>
  )
}
