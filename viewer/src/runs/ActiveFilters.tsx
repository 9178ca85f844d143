import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import { documentQuery } from '../api/query'
import { Icon } from '../parts/Icon'
import styles from './ActiveFilters.module.css'
import { clip } from './clip'
import { modelWords } from './model'
import { type ActiveFilter, activeFilters, compact, type RunsSearch, toggled, unfiltered } from './search'
import { useWorkspaces } from './useWorkspaces'

const WORDS: Record<ActiveFilter['filter'], string> = {
  q: 'text',
  whose: 'whose',
  state: 'status',
  benchmark: 'benchmark',
  model: 'model',
  agent: 'agent',
  kind: 'kind',
  tag: 'tag',
  group: 'group',
  workspace: 'workspace',
  configuration: 'configuration',
  branch: 'branch',
  creator: 'by',
  dataset: 'dataset',
}

/** The filters that are set; each goes away when it is pressed. */
export const ActiveFilters = memo(function ActiveFilters({
  search,
  onChange,
  builtin,
}: {
  search: RunsSearch
  onChange: (search: RunsSearch) => void
  /** Whether runs of built-in agents are shown beside others; undefined where there is no choice. */
  builtin?: RunsSearch['builtin']
}) {
  const active = activeFilters(search)
  const names = useNames(search)
  if (active.length === 0 && builtin === undefined) return null
  return (
    <ul className={styles.chips} aria-label="Active filters">
      {active.map(({ filter, value }) => (
        <li key={`${filter} ${value}`}>
          <button
            type="button"
            className={styles.chip}
            data-tip={`Remove ${WORDS[filter]}: ${names.get(value) ?? value}`}
            onClick={() => onChange(toggled(search, filter, value))}
          >
            <span className="muted">{WORDS[filter]}</span>
            <bdi className={styles.value}>
              {clip(filter === 'model' ? modelWords(value).name : (names.get(value) ?? value), 60)}
            </bdi>
            <Icon name="close" size={12} label="remove" />
          </button>
        </li>
      ))}
      {builtin !== undefined && (
        <li>
          <button
            type="button"
            className={styles.chip}
            data-tip={builtin === 'hidden' ? 'Show runs of built-in agents: random, empty, oracle' : 'Hide them again'}
            onClick={() => onChange(compact({ ...search, builtin: builtin === 'hidden' ? 'shown' : undefined }))}
          >
            <span className="muted">built-in agents</span>
            <span className={styles.value}>{builtin}</span>
            <Icon name="close" size={12} label={builtin === 'hidden' ? 'show' : 'hide'} />
          </button>
        </li>
      )}
      {active.length > 0 && (
        <li>
          <button type="button" className={styles.clear} onClick={() => onChange(unfiltered(search))}>
            Clear all
          </button>
        </li>
      )}
      {search.workspace && search.configuration?.length === 1 && (
        <li>
          <Link
            to="/workspaces/$workspaceId/configuration"
            params={{ workspaceId: search.workspace }}
            search={{ path: search.configuration[0] }}
          >
            Its runs over commits
          </Link>
        </li>
      )}
    </ul>
  )
})

/** The names of workspace and dataset by their ids, as far as they are known. */
function useNames({ workspace, dataset }: RunsSearch): ReadonlyMap<string, string> {
  const workspaces = useWorkspaces()
  const first = dataset?.[0]
  const found = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/datasets/{dataset}', {
      params: { workspace: workspace ?? '', dataset: first ?? '' },
    }),
    enabled: workspace !== undefined && first !== undefined,
  }).data
  return new Map([...workspaces, ...(found ? [found] : [])].map(({ id, name }) => [id, name]))
}
