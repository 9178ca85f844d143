import { useInfiniteQuery } from '@tanstack/react-query'
import { get } from '../api/client'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from '../parts/panels.module.css'
import { Skeleton } from '../parts/Skeleton'
import { useNarrow } from '../parts/useNarrow'
import own from './AuditList.module.css'
import { AuditRow, NarrowAuditRow } from './AuditRow'
import { useNames } from './useNames'

/** What was done on the server, newest first. */
export function AuditList() {
  const narrow = useNarrow()
  const log = useInfiniteQuery({
    queryKey: ['/api/admin/audit', 'pages'],
    queryFn: ({ pageParam, signal }) => get('/api/admin/audit', { query: { cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  if (log.error) return <Failure error={log.error} title="The audit log could not be loaded" />
  if (!log.data) return <Skeleton height="16rem" />
  const entries = log.data.pages.flatMap((page) => page.entries)
  return (
    <div className={styles.stack}>
      <Panel title="Audit log" flush>
        {narrow ? <NarrowAudit entries={entries} /> : <AuditTable entries={entries} />}
      </Panel>
      {log.hasNextPage && (
        <div>
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Load older
          </Button>
        </div>
      )}
    </div>
  )
}

function AuditTable({ entries }: { entries: readonly Schema<'AuditRow'>[] }) {
  const names = useNames()
  return (
    <PlainTable label="Audit log">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Actor</th>
          <th scope="col">Action</th>
          <th scope="col">Target</th>
          <th scope="col" data-minor>
            Details
          </th>
          <th scope="col" data-minor>
            Address
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <AuditRow key={entry.id} entry={entry} names={names} />
        ))}
      </tbody>
    </PlainTable>
  )
}

function NarrowAudit({ entries }: { entries: readonly Schema<'AuditRow'>[] }) {
  const names = useNames()
  return (
    <ul className={own.narrow} aria-label="Audit log">
      {entries.map((entry) => (
        <NarrowAuditRow key={entry.id} entry={entry} names={names} />
      ))}
    </ul>
  )
}
