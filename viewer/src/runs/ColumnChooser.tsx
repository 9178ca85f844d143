import { useMemo } from 'react'
import { MultiSelect } from '../parts/MultiSelect'
import { COLUMNS, readColumns } from './columns'
import { compact, type RunsSearch } from './search'

const OPTIONS = COLUMNS.filter((column) => column.id !== 'name').map(({ id, title }) => ({ value: id, label: title }))

/** Which columns the table shows; none chosen means as many as fit, the most important first. */
export function ColumnChooser({ search, onChange }: { search: RunsSearch; onChange: (search: RunsSearch) => void }) {
  const chosen = useMemo(() => readColumns(search.columns), [search.columns])
  return (
    <MultiSelect
      label="Columns"
      options={OPTIONS}
      selected={chosen}
      onChange={(columns) => onChange(compact({ ...search, columns: readColumns(columns) }))}
    />
  )
}
