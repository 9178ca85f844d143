import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { del, patch } from '../api/client'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu } from '../parts/Menu'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { useNarrow } from '../parts/useNarrow'
import { When } from '../parts/When'
import { LastRun } from './LastRun'
import styles from './schedules.module.css'
import { runsWhen } from './times'

type Schedule = Schema<'ScheduleDocument'>

/** The schedules of a workspace. */
interface ScheduleTableProps {
  workspaceId: string
  schedules: readonly Schedule[]
  /** Begin to change a schedule. */
  onEdit: (schedule: Schedule) => void
}

/** Schedules by name: when they run next, and how their last run went. */
export function ScheduleTable({ workspaceId, schedules, onEdit }: ScheduleTableProps) {
  const narrow = useNarrow()
  const [doomed, setDoomed] = useState<Schedule>()
  const remove = useChange(
    ({ id }: Schedule) =>
      del('/api/workspaces/{workspace}/schedules/{schedule}', { params: { workspace: workspaceId, schedule: id } }),
    { done: `Removed ${doomed?.name}.`, after: () => setDoomed(undefined) },
  )
  const enable = useChange(({ id, enabled }: Schedule) =>
    patch('/api/workspaces/{workspace}/schedules/{schedule}', {
      params: { workspace: workspaceId, schedule: id },
      body: { enabled: !enabled },
    }),
  )
  return (
    <>
      <PlainTable label="Table of schedules" className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" data-minor>
              Runs
            </th>
            <th scope="col" data-minor>
              Next
            </th>
            <th scope="col">Last run</th>
            <th scope="col" data-minor>
              Owner
            </th>
            <th scope="col">
              <span className="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <tr key={schedule.id}>
              <th scope="row">
                <Link
                  to="/workspaces/$workspaceId/schedules/$scheduleId"
                  params={{ workspaceId, scheduleId: schedule.id }}
                >
                  <bdi>{schedule.name}</bdi>
                </Link>
                <span className={styles.second}>{schedule.configuration}</span>
                {narrow && (
                  <span className={styles.second}>
                    {runsWhen(schedule)}, <Next schedule={schedule} />
                    <Fault schedule={schedule} />
                  </span>
                )}
              </th>
              <td data-minor>
                {runsWhen(schedule)}
                <Fault schedule={schedule} />
              </td>
              <td data-minor>
                <Next schedule={schedule} />
              </td>
              <td>
                <LastRun run={schedule.last} />
              </td>
              <td data-minor>
                <bdi>{schedule.owner ?? '–'}</bdi>
              </td>
              <td data-numeric>
                {schedule.owned && (
                  <Menu
                    label={`Change ${schedule.name}`}
                    icon="menu"
                    small
                    items={[
                      { label: 'Edit…', onChoose: () => onEdit(schedule) },
                      {
                        label: schedule.enabled ? 'Pause' : 'Resume',
                        disabled: enable.isPending,
                        onChoose: () => enable.mutate(schedule),
                      },
                      { label: 'Remove…', danger: true, onChoose: () => setDoomed(schedule) },
                    ]}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      <ConfirmDialog
        open={doomed !== undefined}
        title={`Remove ${doomed?.name}?`}
        confirm="Remove schedule"
        danger
        busy={remove.isPending}
        onConfirm={() => doomed && remove.mutate(doomed)}
        onClose={() => setDoomed(undefined)}
      >
        <p>Nothing is run by it any more. Its runs stay.</p>
      </ConfirmDialog>
    </>
  )
}

/** When a schedule runs next. */
function Next({ schedule: { enabled, trigger, next_at: at } }: { schedule: Schedule }) {
  if (!enabled)
    return (
      <Badge tone="warn" icon="pause">
        paused
      </Badge>
    )
  return trigger === 'cron' ? <When at={at} /> : 'at a sync'
}

/** Why a schedule does not run, unless its last run says so. */
function Fault({ schedule: { fault, last } }: { schedule: Schedule }) {
  if (fault === '' || last?.fault === fault) return null
  return <span className={styles.fault}>{fault}</span>
}
