import { Select } from '../parts/Select'
import { compact, DEFAULT_SORT, type RunSort, type RunsSearch } from './search'

const OPTIONS: { value: RunSort; label: string }[] = [
  { value: '-created_at', label: 'newest first' },
  { value: 'created_at', label: 'oldest first' },
  { value: '-score', label: 'highest score' },
  { value: 'score', label: 'lowest score' },
  { value: 'name', label: 'name' },
  { value: 'benchmark', label: 'benchmark' },
  { value: 'model', label: 'model' },
  { value: 'agent', label: 'agent' },
  { value: 'id', label: 'run ID' },
  { value: 'state', label: 'status' },
  { value: '-cost', label: 'most expensive' },
  { value: '-tokens', label: 'most tokens' },
  { value: '-duration', label: 'longest' },
]

/** The order of the list where there are no columns to press. */
export function SortSelect({ search, onChange }: { search: RunsSearch; onChange: (search: RunsSearch) => void }) {
  const value = search.sort ?? DEFAULT_SORT
  const options = OPTIONS.some((option) => option.value === value) ? OPTIONS : [...OPTIONS, { value, label: value }]
  return (
    <Select
      hideLabel
      label="Order"
      options={options}
      value={value}
      onChange={(sort) => onChange(compact({ ...search, sort: sort === DEFAULT_SORT ? undefined : sort }))}
    />
  )
}
