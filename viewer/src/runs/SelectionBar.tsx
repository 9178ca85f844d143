import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { address } from '../api/address'
import { source } from '../api/source'
import { plural } from '../format'
import { Button } from '../parts/Button'
import { IconButton } from '../parts/IconButton'
import { place } from '../place'
import { DeleteDialog } from './DeleteDialog'
import type { Run } from './page'
import { patchLists } from './patchLists'
import styles from './SelectionBar.module.css'
import { TagDialog } from './TagDialog'
import { useCompare } from './useCompare'
import type { Selection } from './useSelection'

/** What can be done with the selected runs. */
export function SelectionBar({ selection, onDeleted }: { selection: Selection; onDeleted: () => void }) {
  const [asked, setAsked] = useState<'tag' | 'delete'>()
  const compare = useCompare()
  const client = useQueryClient()
  const { ids, runs } = selection
  if (ids.length === 0) return null
  const changeable = place.mode === 'server' ? runs.filter((run) => run.may_change === true).length : runs.length
  const others = runs.length - changeable
  const why =
    others > 0 ? `${plural(others, 'run')} of these ${others === 1 ? 'is' : 'are'} not yours to change` : undefined
  const tagged = (changed: Run[]) => {
    setAsked(undefined)
    selection.see(changed)
    patchLists(client, { runs: changed, deleted: [] })
    void client.invalidateQueries({ queryKey: ['/api/runs/facets'] })
  }
  const deleted = () => {
    setAsked(undefined)
    selection.clear()
    onDeleted()
  }
  return (
    <section className={styles.bar} aria-label="Selected runs">
      <strong className="number" aria-live="polite">
        {plural(ids.length, 'run')} selected
      </strong>
      <span className={styles.actions}>
        <Button
          look="primary"
          icon="compare"
          disabled={ids.length < 2}
          data-tip={ids.length < 2 ? 'Select a second run to compare with' : 'Compare (c)'}
          onClick={() => compare(ids)}
        >
          Compare
        </Button>
        {source.live && (
          <>
            <Button icon="download" onClick={() => window.location.assign(address('/api/export', {}, { run: ids }))}>
              Export
            </Button>
            {changeable > 0 && (
              <>
                <Button icon="tag" disabled={others > 0} data-tip={why} onClick={() => setAsked('tag')}>
                  Tag
                </Button>
                <Button
                  icon="trash"
                  look="danger"
                  disabled={others > 0}
                  data-tip={why}
                  onClick={() => setAsked('delete')}
                >
                  Delete
                </Button>
              </>
            )}
          </>
        )}
      </span>
      <IconButton icon="close" label="Clear selection (Esc)" onClick={selection.clear} />
      {asked === 'tag' && <TagDialog runs={runs} onClose={() => setAsked(undefined)} onDone={tagged} />}
      {asked === 'delete' && <DeleteDialog runs={runs} onClose={() => setAsked(undefined)} onDone={deleted} />}
    </section>
  )
}
