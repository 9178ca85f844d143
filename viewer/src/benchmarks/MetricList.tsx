/** The metrics that a benchmark declares. */

import { Icon } from '../parts/Icon'
import { PlainTable } from '../parts/PlainTable'
import type { MetricWords } from './metrics'

export function MetricList({ metrics }: { metrics: readonly MetricWords[] }) {
  return (
    <PlainTable label="Table of metrics">
      <thead>
        <tr>
          <th scope="col">Metric</th>
          <th scope="col">Definition</th>
          <th scope="col">Range</th>
          <th scope="col">Better</th>
        </tr>
      </thead>
      <tbody>
        {metrics.map((metric) => (
          <tr key={metric.name}>
            <th scope="row">
              {metric.name} {metric.primary && <Icon name="star" size={13} label="primary metric" />}
            </th>
            <td>{metric.meaning}</td>
            <td>{metric.range || <span className="muted">not declared</span>}</td>
            <td>{metric.better}</td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
