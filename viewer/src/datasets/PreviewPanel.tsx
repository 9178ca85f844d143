import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { count } from '../format'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { RowsTable } from '../renderers/RowsTable'

const ROWS = 20

/** A version whose rows are shown. */
interface PreviewPanelProps {
  workspaceId: string
  datasetId: string
  version: number
}

/** The first rows of a version. */
export function PreviewPanel({ workspaceId, datasetId, version }: PreviewPanelProps) {
  const params = { workspace: workspaceId, dataset: datasetId }
  const preview = useDocument('/api/workspaces/{workspace}/datasets/{dataset}/preview', {
    params,
    query: { version, limit: ROWS },
  })
  const found = preview.data
  return (
    <Panel title="Rows" note={found && noteOf(found)}>
      <Loaded query={preview} title="The rows could not be loaded">
        {(rows) => <RowsTable rows={tableOf(rows)} />}
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
