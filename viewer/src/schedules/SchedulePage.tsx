import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from '../parts/panels.module.css'
import { When } from '../parts/When'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { LastRun } from './LastRun'
import { TimeList } from './NextTimes'
import { lookAgain, runsWhen } from './times'

/** A schedule: what it runs, its next times, and its last runs. */
export function SchedulePage() {
  const { workspaceId, scheduleId } = useParams({ from: '/workspaces/$workspaceId/schedules/$scheduleId' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const schedule = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/schedules/{schedule}', {
      params: { workspace: workspaceId, schedule: scheduleId },
    }),
    refetchInterval: ({ state }) => lookAgain(state.data?.runs ?? []),
  })
  const name = schedule.data?.schedule.name ?? 'Schedule'
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      trail={
        <>
          <WorkspaceTrail workspace={workspace.data} />
          {' › '}
          <Link to="/workspaces/$workspaceId/schedules" params={{ workspaceId }}>
            Schedules
          </Link>
        </>
      }
      note={schedule.data && runsWhen(schedule.data.schedule)}
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={schedule} title="This schedule could not be loaded">
        {(found) => <ScheduleView workspaceId={workspaceId} detail={found} />}
      </Loaded>
    </Page>
  )
}

function ScheduleView({ workspaceId, detail }: { workspaceId: string; detail: Schema<'ScheduleDetail'> }) {
  const { schedule, next_times: times, runs } = detail
  const { limit, model, tags } = schedule.overrides
  const facts: readonly (readonly [string, string])[] = [
    ['Configuration', schedule.configuration],
    ['Branch', schedule.branch || 'the one that is followed'],
    ['Owner', schedule.owner ?? 'the account is gone'],
    ...(limit == null ? [] : [['Rows', `the first ${limit}`] as const]),
    ...(model == null ? [] : [['Model', model] as const]),
    ...(tags?.length ? [['Tags', tags.join(', ')] as const] : []),
  ]
  return (
    <>
      {schedule.fault !== '' && (
        <div className={styles.wrong} role="alert">
          {schedule.fault}
        </div>
      )}
      <div className={styles.columns}>
        <Panel title="Last runs" flush={runs.length > 0}>
          {runs.length > 0 ? <RunTable runs={runs} /> : <p className="muted">Nothing was due yet.</p>}
        </Panel>
        <div className={styles.stack}>
          <Panel title="Next">
            {!schedule.enabled && (
              <Badge tone="warn" icon="pause">
                paused
              </Badge>
            )}
            {schedule.enabled && schedule.trigger === 'sync' && <p>At the next sync with a new commit.</p>}
            {times.length > 0 && <TimeList times={times} timezone={schedule.timezone} />}
          </Panel>
          <Panel title="What it runs">
            <dl className={styles.terms}>
              {facts.map(([term, value]) => (
                <div key={term} className={styles.pair}>
                  <dt>{term}</dt>
                  <dd>
                    {term === 'Configuration' ? (
                      <Link
                        to="/workspaces/$workspaceId/configuration"
                        params={{ workspaceId }}
                        search={{ path: value }}
                      >
                        <bdi>{value}</bdi>
                      </Link>
                    ) : (
                      <bdi>{value}</bdi>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          </Panel>
        </div>
      </div>
    </>
  )
}

function RunTable({ runs }: { runs: readonly Schema<'ScheduledRunDocument'>[] }) {
  return (
    <PlainTable label="Table of scheduled runs">
      <thead>
        <tr>
          <th scope="col">Due</th>
          <th scope="col">Run</th>
          <th scope="col" data-minor>
            Commit
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={`${run.due_at} ${run.run_id ?? run.commit}`}>
            <td>
              <When at={run.due_at} />
            </td>
            <td>
              <LastRun run={run} />
            </td>
            <td data-minor>
              <code>{run.commit.slice(0, 12) || '–'}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
