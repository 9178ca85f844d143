import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { bytes, count } from '../format'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { DatasetBadge } from './DatasetBadge'

/** The datasets of a workspace. */
interface DatasetTableProps {
  workspaceId: string
  datasets: readonly Schema<'DatasetItem'>[]
}

/** Datasets with the state and size of their newest version. */
export function DatasetTable(props: DatasetTableProps) {
  return (
    <PlainTable label="Table of datasets">
      <DatasetHead />
      <tbody>
        <DatasetRows {...props} />
      </tbody>
    </PlainTable>
  )
}

export function DatasetHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">State</th>
        <th scope="col" data-numeric data-minor>
          Version
        </th>
        <th scope="col" data-numeric>
          Rows
        </th>
        <th scope="col" data-numeric data-minor>
          Size
        </th>
        <th scope="col" data-minor>
          By
        </th>
        <th scope="col">Updated</th>
      </tr>
    </thead>
  )
}

export function DatasetRows({ workspaceId, datasets }: DatasetTableProps) {
  return datasets.map((one) => (
    <tr key={one.id}>
      <th scope="row">
        <Link
          to="/workspaces/$workspaceId/datasets/$datasetId"
          params={{ workspaceId, datasetId: one.id }}
          data-full={one.name}
        >
          {one.name}
        </Link>
      </th>
      <td>
        <DatasetBadge status={one.status} />
      </td>
      <td data-numeric data-minor className="number">
        {one.version ?? '–'}
      </td>
      <td data-numeric className="number">
        {count(one.rows)}
      </td>
      <td data-numeric data-minor className="number">
        {bytes(one.size)}
      </td>
      <td data-minor>
        <bdi>{one.creator || '–'}</bdi>
      </td>
      <td>
        <When at={one.updated_at} />
      </td>
    </tr>
  ))
}
