import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { documentQuery } from '../api/query'
import { When } from '../parts/When'
import styles from './schedules.module.css'
import { inZone } from './times'

const SETTLED_MS = 300

/** The next times of what is being written, or what is wrong with it. */
export function NextTimes({ workspaceId, cron, timezone }: { workspaceId: string; cron: string; timezone: string }) {
  const settled = useSettled(`${cron.trim()}\n${timezone.trim()}`)
  const [wanted = '', zone = ''] = settled.split('\n')
  const times = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/schedule-times', {
      params: { workspace: workspaceId },
      query: { cron: wanted, timezone: zone },
    }),
    retry: false,
  })
  return (
    <div className={styles.next} role="status" aria-label="Next times" aria-busy={times.isPending}>
      {times.data && <TimeList times={times.data.times} timezone={zone} />}
      {times.error && <span className={styles.wrong}>{times.error.message}</span>}
    </div>
  )
}

/** Times in the time zone of their schedule, and how far away they are. */
export function TimeList({ times, timezone }: { times: readonly string[]; timezone: string }) {
  return (
    <ol className={styles.times}>
      {times.map((at) => (
        <li key={at}>
          <span>{inZone(at, timezone)}</span> <When at={at} />
        </li>
      ))}
    </ol>
  )
}

/** A text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
