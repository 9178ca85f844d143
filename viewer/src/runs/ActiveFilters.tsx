import { memo } from 'react'
import { Icon } from '../parts/Icon'
import styles from './ActiveFilters.module.css'
import { clip } from './clip'
import { modelWords } from './model'
import { type ActiveFilter, activeFilters, type RunsSearch, toggled, unfiltered } from './search'

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
}

/** The filters that are set; each goes away when it is pressed. */
export const ActiveFilters = memo(function ActiveFilters({
  search,
  onChange,
}: {
  search: RunsSearch
  onChange: (search: RunsSearch) => void
}) {
  const active = activeFilters(search)
  if (active.length === 0) return null
  return (
    <ul className={styles.chips} aria-label="Active filters">
      {active.map(({ filter, value }) => (
        <li key={`${filter} ${value}`}>
          <button
            type="button"
            className={styles.chip}
            title={`Remove ${WORDS[filter]}: ${value}`}
            onClick={() => onChange(toggled(search, filter, value))}
          >
            <span className="muted">{WORDS[filter]}</span>
            <bdi className={styles.value}>{clip(filter === 'model' ? modelWords(value).name : value, 60)}</bdi>
            <Icon name="close" size={12} label="remove" />
          </button>
        </li>
      ))}
      <li>
        <button type="button" className={styles.clear} onClick={() => onChange(unfiltered(search))}>
          Clear all
        </button>
      </li>
    </ul>
  )
})
