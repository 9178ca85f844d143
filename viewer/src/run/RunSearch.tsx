/** The one field over the episodes of a run: what was said in them or, as the other scope, task, ID and failure. */
import { useState } from 'react'
import type { Schema } from '../api/types'
import { SearchField } from '../parts/SearchField'
import { place } from '../place'
import { SYNTAX } from '../said/place'
import styles from './RunSearch.module.css'
import { isRollout } from './results/rollout'
import { compact, type RunSearch } from './search'

type Scope = 'said' | 'q'

interface RunSearchFieldProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch, replace?: boolean) => void
}

export function RunSearchField({ run, search, onSearch }: RunSearchFieldProps) {
  const samples = isRollout(run)
  const unit = samples ? 'samples' : 'episodes'
  const name = samples ? 'Row, ID, failure' : 'Task, ID, failure'
  const [scope, setScope] = useState<Scope>(place.mode === 'site' || search.q ? 'q' : 'said')
  const now: Scope = search.said ? 'said' : search.q ? 'q' : scope
  const text = search[now] ?? ''
  const put = (where: Scope, value: string) => {
    setScope(where)
    onSearch(compact({ ...search, said: undefined, q: undefined, [where]: value }), true)
  }
  return (
    <div className={styles.search}>
      <SearchField
        page
        label={`Search ${unit}`}
        placeholder={now === 'said' ? 'Search what was said…' : `${name}…`}
        value={text}
        onChange={(value) => put(now, value)}
      />
      {place.mode !== 'site' && (
        <fieldset className={styles.scopes}>
          <legend className="hidden-text">Search in</legend>
          <button type="button" aria-pressed={now === 'said'} data-tip={SYNTAX} onClick={() => put('said', text)}>
            Said
          </button>
          <button type="button" aria-pressed={now === 'q'} data-tip={name} onClick={() => put('q', text)}>
            {samples ? 'Row, ID' : 'Task, ID'}
          </button>
        </fieldset>
      )}
    </div>
  )
}
