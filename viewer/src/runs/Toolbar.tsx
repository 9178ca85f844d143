import { useQuery } from '@tanstack/react-query'
import { memo, type ReactNode, useState } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { Icon } from '../parts/Icon'
import { IconButton } from '../parts/IconButton'
import { MultiSelect } from '../parts/MultiSelect'
import { SearchField } from '../parts/SearchField'
import { Select } from '../parts/Select'
import { useNarrow } from '../parts/useNarrow'
import { place } from '../place'
import { keysOf } from '../search'
import { ColumnChooser } from './ColumnChooser'
import { modelText } from './model'
import type { Run } from './page'
import { SortSelect } from './SortSelect'
import { compact, type RunFilter, type RunsSearch, type Whose } from './search'
import styles from './Toolbar.module.css'
import { useWorkspaces } from './useWorkspaces'
import { filterTitle } from './wording'

/** What the toolbar changes. */
interface ToolbarProps {
  search: RunsSearch
  onChange: (search: RunsSearch, replace?: boolean) => void
  /** The runs that are there. */
  runs: readonly Run[]
  /** Whether runs stand below their benchmarks. */
  grouped: boolean
  /** The filters that are set. */
  children?: ReactNode
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

/** Filters of a server, each shown where there is something to choose. */
const SERVER_LABELS = {
  configuration: 'Configuration',
  branch: 'Branch',
  creator: 'By',
} as const satisfies Partial<Record<RunFilter, string>>

const SERVER_FACETS = keysOf(SERVER_LABELS)

/** How often (ms) the filters learn of new values; the server may keep its answer for five seconds. */
const FACETS_MS = 10_000

/** Search, filters with the number of runs behind each value, and columns. */
export const Toolbar = memo(function Toolbar({ search, onChange, runs, grouped, children }: ToolbarProps) {
  const { data: facets } = useQuery({
    ...documentQuery('/api/runs/facets'),
    refetchInterval: source.live ? FACETS_MS : false,
  })
  const [shown, setShown] = useState(false)
  const narrow = useNarrow()
  const kinds = search.kind ?? facets?.kind.map(({ value }) => value) ?? []
  return (
    <div className={styles.toolbar}>
      <span className={styles.search}>
        <SearchField
          page
          label="Search runs"
          placeholder="Name, model, tag, ID…"
          value={search.q ?? ''}
          onChange={(q) => onChange(compact({ ...search, q: q.trim() === '' ? undefined : q }), true)}
        />
      </span>
      <Button look="quiet" icon="filter" aria-expanded={shown} onClick={() => setShown(!shown)}>
        Filters
      </Button>
      {children}
      <span className={styles.end}>
        {search.view !== 'matrix' && !narrow && (
          <>
            <Select
              label="Group by"
              options={[{ value: 'benchmark' }, { value: 'none', label: 'nothing' }]}
              value={grouped ? 'benchmark' : 'none'}
              onChange={(by) => onChange(compact({ ...search, by }))}
            />
            <FoldButton search={search} onChange={onChange} />
          </>
        )}
        <ViewSwitch search={search} onChange={onChange} />
        {search.view !== 'matrix' &&
          (narrow ? (
            <SortSelect search={search} onChange={onChange} />
          ) : (
            <>
              <DensityButton search={search} onChange={onChange} />
              <ColumnChooser search={search} onChange={onChange} runs={runs} />
            </>
          ))}
      </span>
      {shown && (
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
          {place.mode === 'server' && <WorkspaceSelect search={search} onChange={onChange} />}
          {FACETS.map((facet) => (
            <MultiSelect
              key={facet}
              label={filterTitle(facet, LABELS[facet], kinds)}
              options={(facets?.[facet] ?? []).map(({ value, count }) => ({
                value,
                label: facet === 'model' ? modelText(value) : value,
                count,
              }))}
              selected={search[facet] ?? []}
              onChange={(values) => onChange(compact({ ...search, [facet]: values }))}
            />
          ))}
          {place.mode === 'server' &&
            SERVER_FACETS.filter((facet) => search[facet] || (facets?.[facet].length ?? 0) > 0).map((facet) => (
              <MultiSelect
                key={facet}
                label={SERVER_LABELS[facet]}
                options={(facets?.[facet] ?? []).map(({ value, count }) => ({ value, count }))}
                selected={search[facet] ?? []}
                onChange={(values) => onChange(compact({ ...search, [facet]: values }))}
              />
            ))}
        </div>
      )}
    </div>
  )
})

type Part = Pick<ToolbarProps, 'search' | 'onChange'>

/** The list, or the matrix of benchmarks and models. */
function ViewSwitch({ search, onChange }: Part) {
  const matrix = search.view === 'matrix'
  useShortcut('', matrix ? 'Show runs as a list' : 'Show runs as a matrix', () =>
    onChange(compact({ ...search, view: matrix ? undefined : 'matrix' })),
  )
  return (
    <fieldset className={styles.switch}>
      <legend className="hidden-text">View</legend>
      <button type="button" aria-pressed={!matrix} onClick={() => onChange(compact({ ...search, view: undefined }))}>
        <Icon name="list" /> List
      </button>
      <button type="button" aria-pressed={matrix} onClick={() => onChange(compact({ ...search, view: 'matrix' }))}>
        <Icon name="columns" /> Matrix
      </button>
    </fieldset>
  )
}

function DensityButton({ search, onChange }: Part) {
  const roomy = search.rows === 'roomy'
  const words = roomy ? 'Compact rows' : 'Roomy rows'
  const change = () => onChange(compact({ ...search, rows: roomy ? undefined : 'roomy' }))
  useShortcut('', words, change)
  return <IconButton icon="pages" label={words} onClick={change} />
}

function FoldButton({ search, onChange }: Part) {
  const folded = search.attempts === 'folded'
  return (
    <IconButton
      icon="minus"
      label={folded ? 'Show all attempts at the same' : 'One row for all attempts at the same'}
      aria-pressed={folded}
      onClick={() => onChange(compact({ ...search, attempts: folded ? undefined : 'folded' }))}
    />
  )
}

/** One of the workspaces that the user is in. */
function WorkspaceSelect({ search, onChange }: Part) {
  const workspaces = useWorkspaces()
  const { workspace = '' } = search
  if (workspaces.length === 0 && workspace === '') return null
  const known = workspace === '' || workspaces.some(({ id }) => id === workspace)
  return (
    <Select
      label="Workspace"
      hideLabel
      options={[
        { value: '', label: 'Any workspace' },
        ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
        ...(known ? [] : [{ value: workspace }]),
      ]}
      value={workspace}
      onChange={(chosen) => onChange(compact({ ...search, workspace: chosen }))}
    />
  )
}
