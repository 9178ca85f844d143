import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Command } from '../parts/Command'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { When } from '../parts/When'
import { runsWhen } from '../schedules/times'
import styles from './workspaces.module.css'

type Schedule = Schema<'ScheduleDocument'>

const SHOWN = 5
const LOOK_AGAIN = 30_000

/** What runs next by itself. */
export function NextRuns({ workspaceId }: { workspaceId: string }) {
  const schedules = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/schedules', { params: { workspace: workspaceId } }),
    refetchInterval: LOOK_AGAIN,
  })
  return (
    <Panel
      title="Next"
      actions={
        <Link to="/workspaces/$workspaceId/schedules" params={{ workspaceId }}>
          All schedules
        </Link>
      }
    >
      <Loaded query={schedules} title="The schedules could not be loaded" height="4rem">
        {(found) => <NextList workspaceId={workspaceId} schedules={found} />}
      </Loaded>
    </Panel>
  )
}

function NextList({ workspaceId, schedules }: { workspaceId: string; schedules: readonly Schedule[] }) {
  const coming = schedules.filter(({ enabled }) => enabled).sort((one, other) => timeOf(one) - timeOf(other))
  const paused = schedules.length - coming.length
  if (schedules.length === 0)
    return (
      <div className={panels.stack}>
        <p className="muted">Nothing runs by itself yet.</p>
        <Command>{"mesocosm eval schedule add configs/eval/NAME.toml --cron '0 3 * * *'"}</Command>
      </div>
    )
  return (
    <div className={panels.stack}>
      <ul className={styles.next} aria-label="What runs next">
        {coming.slice(0, SHOWN).map((schedule) => (
          <li key={schedule.id}>
            <Link
              to="/workspaces/$workspaceId/schedules/$scheduleId"
              params={{ workspaceId, scheduleId: schedule.id }}
              data-tip={runsWhen(schedule)}
            >
              <bdi>{schedule.name}</bdi>
            </Link>
            {schedule.next_at === null ? (
              <span className="muted">{runsWhen(schedule)}</span>
            ) : (
              <When at={schedule.next_at} />
            )}
          </li>
        ))}
      </ul>
      {paused > 0 && <p className="muted">{plural(paused, 'schedule')} paused.</p>}
    </div>
  )
}

/** When a schedule runs next; those without a time come last. */
function timeOf({ next_at }: Schedule): number {
  return next_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_at)
}
