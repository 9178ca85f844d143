/** Published scores, and whether runs may be compared with them. */

import type { Schema } from '../api/types'
import { exact, measure } from '../format'
import { PlainTable } from '../parts/PlainTable'
import { SourceLink } from '../parts/SourceLink'

export function PublishedList({ references }: { references: readonly Schema<'ReferenceDocument'>[] }) {
  return (
    <PlainTable label="Table of published scores">
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" data-numeric>
            Score
          </th>
          <th scope="col">Unit</th>
          <th scope="col">Split</th>
          <th scope="col">Date</th>
          <th scope="col">Source</th>
          <th scope="col" data-tip="Only if the unit and the split match the benchmark">
            Compared with
          </th>
        </tr>
      </thead>
      <tbody>
        {references.map(({ label, value, unit, split, source, published, comparable }) => (
          <tr key={`${label} ${split} ${unit} ${source}`}>
            <th scope="row">
              <bdi>{label}</bdi>
            </th>
            <td data-numeric data-tip={exact(value)}>
              {measure(value)}
            </td>
            <td>{unit}</td>
            <td>{split}</td>
            <td className="number">{published ?? '–'}</td>
            <td>
              <SourceLink source={source} />
            </td>
            <td>
              {comparable ? (
                'runs on all tasks'
              ) : (
                <span className="muted">not comparable: different unit or split</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
