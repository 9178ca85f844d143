import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import panels from '../parts/panels.module.css'
import { When } from '../parts/When'
import { CheckBadge } from './CheckBadge'
import { EnvironmentStatus } from './EnvironmentStatus'
import { building } from './stages'

const LOOK_AGAIN = 3_000

/** What was submitted, newest first; runs keep pointing at theirs. */
export function VersionPanel({ environment }: { environment: Schema<'SubmittedEnvironment'> }) {
  const versions = useQuery({
    ...documentQuery('/api/environments/{environment_id}/versions', {
      params: { environment_id: environment.id },
    }),
    refetchInterval: ({ state }) => (state.data?.some((one) => building(one.state)) ? LOOK_AGAIN : false),
  })
  return (
    <Panel title="Versions" flush>
      <Loaded query={versions} title="The versions could not be loaded" height="6rem">
        {(found) => (
          <PlainTable label="Table of versions">
            <thead>
              <tr>
                <th scope="col">Version</th>
                <th scope="col">State</th>
                <th scope="col" data-minor>
                  Vow
                </th>
                <th scope="col">Commit</th>
                <th scope="col">Submitted</th>
              </tr>
            </thead>
            <tbody>
              {found.map((one) => (
                <tr key={one.version}>
                  <th scope="row" className="number">
                    {one.version}
                  </th>
                  <td data-full={one.error_message ?? undefined}>
                    <div className={panels.actions}>
                      <EnvironmentStatus status={one.state} />
                      {one.version === environment.ready_version && <Badge title="Runs use this version">in use</Badge>}
                      {one.state === 'ready' && one.check && (
                        <CheckBadge state={one.check.state ?? 'unchecked'} problems={one.check.problems} />
                      )}
                    </div>
                  </td>
                  <td data-minor>{one.vow_version ?? '–'}</td>
                  <td>{one.commit ? <code data-tip={one.commit}>{one.commit.slice(0, 7)}</code> : '–'}</td>
                  <td>
                    <When at={one.created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </PlainTable>
        )}
      </Loaded>
    </Panel>
  )
}
