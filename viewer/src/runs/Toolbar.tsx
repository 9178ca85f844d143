import { useQuery } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { Button } from '../parts/Button'
import { IconButton } from '../parts/IconButton'
import { MultiSelect } from '../parts/MultiSelect'
import { SearchField } from '../parts/SearchField'
import { Select } from '../parts/Select'
import { useNarrow } from '../parts/useNarrow'
import { place } from '../place'
import { ColumnChooser } from './ColumnChooser'
import { modelText } from './model'
import { SortSelect } from './SortSelect'
import { compact, type RunFilter, type RunsSearch, type Whose } from './search'
import styles from './Toolbar.module.css'
import { onlyRollouts, titleOf } from './wording'

/** What the toolbar changes. */
interface ToolbarProps {
  search: RunsSearch
  onChange: (search: RunsSearch, replace?: boolean) => void
}

const LABELS = {
  state: 'Status',
  benchmark: 'Benchmark',
  model: 'Model',
  agent: 'Agent',
  tag: 'Tag',
  kind: 'Kind',
} as const satisfies Partial<Record<RunFilter, string>>

const WHOSE_WORDS: readonly { value: Whose | 'all'; label: string }[] = [
  { value: 'all', label: 'All runs' },
  { value: 'mine', label: 'Mine' },
  { value: 'team', label: 'My teams' },
  { value: 'workspace', label: 'Workspaces' },
  { value: 'public', label: 'Public' },
]

const FACETS = Object.keys(LABELS) as (keyof typeof LABELS)[]

/** How often (ms) the filters learn of new values; the server may keep its answer for five seconds. */
const FACETS_MS = 10_000

/** Search, filters with the number of runs behind each value, and columns. */
export const Toolbar = memo(function Toolbar({ search, onChange }: ToolbarProps) {
  const { data: facets } = useQuery({
    ...documentQuery('/api/runs/facets'),
    refetchInterval: source.live ? FACETS_MS : false,
  })
  const [shown, setShown] = useState(false)
  const narrow = useNarrow()
  const rollouts = onlyRollouts(search)
  return (
    <div className={styles.toolbar} data-open={shown || undefined}>
      <SearchField
        page
        label="Search runs"
        placeholder="Search name, model, tag, ID…"
        value={search.q ?? ''}
        onChange={(q) => onChange(compact({ ...search, q: q.trim() === '' ? undefined : q }), true)}
      />
      <span className={styles.more}>
        <IconButton icon="filter" label="Filters" aria-expanded={shown} onClick={() => setShown(!shown)} />
      </span>
      <div className={styles.filters}>
        {place.mode === 'server' && (
          <Select
            label="Whose runs"
            hideLabel
            options={WHOSE_WORDS}
            value={search.whose ?? 'all'}
            onChange={(whose) => onChange(compact({ ...search, whose: whose === 'all' ? undefined : whose }))}
          />
        )}
        {FACETS.map((facet) => (
          <MultiSelect
            key={facet}
            label={titleOf(facet, LABELS[facet], rollouts)}
            options={(facets?.[facet] ?? []).map(({ value, count }) => ({
              value,
              label: facet === 'model' ? modelText(value) : value,
              count,
            }))}
            selected={search[facet] ?? []}
            onChange={(values) => onChange(compact({ ...search, [facet]: values }))}
          />
        ))}
        <span className={styles.end}>
          <FoldButton search={search} onChange={onChange} />
          {narrow ? (
            <SortSelect search={search} onChange={onChange} />
          ) : (
            <ColumnChooser search={search} onChange={onChange} />
          )}
        </span>
      </div>
    </div>
  )
})

function FoldButton({ search, onChange }: ToolbarProps) {
  const folded = search.attempts === 'folded'
  return (
    <Button
      look="quiet"
      icon="list"
      aria-pressed={folded}
      title="Show one row for all attempts with exactly the same settings"
      onClick={() => onChange(compact({ ...search, attempts: folded ? undefined : 'folded' }))}
    >
      Collapse attempts
    </Button>
  )
}
