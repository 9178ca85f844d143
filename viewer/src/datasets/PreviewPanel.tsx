import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { count } from '../format'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { RowsTable } from '../renderers/RowsTable'
import { SolvedBy } from './SolvedBy'
import { useSolved } from './solved'

const ROWS = 20

/** A version whose rows are shown. */
interface PreviewPanelProps {
  workspaceId: string
  datasetId: string
  version: number
}

/** The first rows of a version, and who solves them. */
export function PreviewPanel({ workspaceId, datasetId, version }: PreviewPanelProps) {
  const params = { workspace: workspaceId, dataset: datasetId }
  const preview = useDocument('/api/workspaces/{workspace}/datasets/{dataset}/preview', {
    params,
    query: { version, limit: ROWS },
  })
  const found = preview.data
  const solved = useSolved(workspaceId, datasetId, version)
  return (
    <Panel title="Rows" note={found && noteOf(found)}>
      <Loaded query={preview} title="The rows could not be loaded">
        {(rows) => (
          <RowsTable
            rows={tableOf(rows)}
            further={
              solved.size > 0
                ? {
                    title: 'Solved by',
                    cell: (line) => <SolvedBy row={solved.get(String(rows.items[line]?.row))} />,
                  }
                : undefined
            }
          />
        )}
      </Loaded>
    </Panel>
  )
}

function noteOf({ items, rows }: Schema<'DatasetPreview'>): string {
  const all = items.length === rows ? `all ${count(rows)}` : `the first ${count(items.length)} of ${count(rows)}`
  return items.some((item) => item.cut?.length) ? `${all}; long cells are cut` : all
}

function tableOf({ items }: Schema<'DatasetPreview'>) {
  const columns = [...new Set(items.flatMap((item) => Object.keys(item.cells)))]
  const rows = items.map((item) => [item.row, ...columns.map((name) => item.cells[name])])
  return { columns: ['Row, from 0', ...columns], rows, more: false }
}
