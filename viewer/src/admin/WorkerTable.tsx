import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'

/** The processes that build and play. */
export function WorkerTable({ workers }: { workers: readonly Schema<'WorkerDocument'>[] }) {
  if (workers.length === 0) {
    return (
      <Empty title="No workers" command="mesocosm worker">
        Runs and builds stay queued until a worker starts. By default the server starts its own workers. You can start
        more on any machine that can reach the database.
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
          <th scope="col">Last heartbeat</th>
          <th scope="col" data-minor>
            Started
          </th>
          <th scope="col" data-minor>
            Version
          </th>
        </tr>
      </thead>
      <tbody>
        {workers.map((one) => (
          <tr key={one.id}>
            <th scope="row" data-full={one.id}>
              {one.host} <span className="muted">{one.pid}</span>
            </th>
            <td>
              {one.alive ? (
                <Badge tone="good" icon="check">
                  active
                </Badge>
              ) : (
                <Badge tone="bad" icon="lost">
                  not responding
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
