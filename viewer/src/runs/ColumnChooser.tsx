import { useSyncExternalStore } from 'react'
import { MultiSelect } from '../parts/MultiSelect'
import { COLUMNS, columnsAt, readColumns } from './columns'
import type { Run } from './page'
import { compact, type RunsSearch } from './search'

const OPTIONS = COLUMNS.filter((column) => column.id !== 'name').map(({ id, title }) => ({ value: id, label: title }))

/** What the chooser changes, and the runs of which empty columns are left out. */
interface ColumnChooserProps {
  search: RunsSearch
  onChange: (search: RunsSearch) => void
  runs: readonly Run[]
}

/** Which columns the table shows; none chosen means as many as fit, the most important first. */
export function ColumnChooser({ search, onChange, runs }: ColumnChooserProps) {
  const width = useSyncExternalStore(subscribe, () => window.innerWidth)
  const shown = columnsAt(width, search.columns, runs).filter((id) => id !== 'name')
  return (
    <MultiSelect
      quiet
      label="Columns"
      options={OPTIONS}
      selected={shown}
      onChange={(columns) => onChange(compact({ ...search, columns: readColumns(columns) }))}
    />
  )
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('resize', listener)
  return () => window.removeEventListener('resize', listener)
}
