import type { Doc } from '../api/platform'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'

/** The processes that build and play. */
export function WorkerTable({ workers }: { workers: readonly Doc<'WorkerDocument'>[] }) {
  if (workers.length === 0) {
    return (
      <Empty title="Nobody works" command="mesocosm worker">
        Runs and builds wait until a worker is there. The server starts its own unless it was told not to; more can be
        started on any machine that reaches the database.
      </Empty>
    )
  }
  return (
    <PlainTable label="Table of workers">
      <thead>
        <tr>
          <th scope="col">Machine</th>
          <th scope="col">State</th>
          <th scope="col" data-numeric>
            Runs
          </th>
          <th scope="col">Heard of</th>
          <th scope="col" data-minor>
            Since
          </th>
          <th scope="col" data-minor>
            Version
          </th>
        </tr>
      </thead>
      <tbody>
        {workers.map((one) => (
          <tr key={one.id}>
            <th scope="row" title={one.id}>
              {one.host} <span className="muted">{one.pid}</span>
            </th>
            <td>
              {one.alive ? (
                <Badge tone="good" icon="check">
                  alive
                </Badge>
              ) : (
                <Badge tone="bad" icon="lost">
                  silent
                </Badge>
              )}
            </td>
            <td data-numeric>
              {one.running} of {one.capacity}
            </td>
            <td>
              <When at={one.heartbeat_at} />
            </td>
            <td data-minor>
              <When at={one.started_at} />
            </td>
            <td data-minor>{one.version}</td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
