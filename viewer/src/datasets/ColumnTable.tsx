import type { Schema } from '../api/types'
import { count } from '../format'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import { gapsOf, rangeOf, rolesByColumn, typesOf } from './columns'

/** The columns of a version with their statistics. */
export function ColumnTable({ version }: { version: Schema<'DatasetVersionDocument'> }) {
  const roles = rolesByColumn(version.roles ?? {})
  return (
    <PlainTable label="Table of columns">
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">Role</th>
          <th scope="col" data-minor>
            Types
          </th>
          <th scope="col">Gaps</th>
          <th scope="col" data-numeric data-minor>
            Distinct
          </th>
          <th scope="col" data-minor>
            Range
          </th>
        </tr>
      </thead>
      <tbody>
        {(version.columns ?? []).map((column) => (
          <tr key={column.name}>
            <th scope="row">
              <bdi data-full={column.name}>{column.name || '(no name)'}</bdi>
            </th>
            <td>
              {roles.has(column.name) ? <Badge>{roles.get(column.name)}</Badge> : <span className="muted">–</span>}
            </td>
            <td data-minor>{typesOf(column)}</td>
            <td data-breaks>{gapsOf(column)}</td>
            <td data-numeric data-minor className="number">
              {count(column.distinct)}
              {column.distinct_capped && '+'}
            </td>
            <td data-minor>{rangeOf(column)}</td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
