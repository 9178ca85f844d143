import { useInfiniteQuery } from '@tanstack/react-query'
import { ask, type Doc } from '../api/platform'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import { Skeleton } from '../parts/Skeleton'
import { When } from '../parts/When'
import styles from '../platform/platform.module.css'
import own from './AuditList.module.css'
import { detailWords, shortObject } from './audit'

/** What was done on the platform, newest first. */
export function AuditList() {
  const log = useInfiniteQuery({
    queryKey: ['platform', '/v1/admin/audit', 'pages'],
    queryFn: ({ pageParam, signal }) =>
      ask('get', '/v1/admin/audit', { query: { cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  if (log.error) return <Failure error={log.error} title="The audit log could not be read" />
  if (!log.data) return <Skeleton height="16rem" />
  return (
    <div className={styles.stack}>
      <Panel title="What was done" flush>
        <PlainTable label="Audit log">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
              <th scope="col">To</th>
              <th scope="col" data-minor>
                More
              </th>
              <th scope="col" data-minor>
                From
              </th>
            </tr>
          </thead>
          <tbody>
            {log.data.pages
              .flatMap((page) => page.entries)
              .map((entry) => (
                <AuditRow key={entry.id} entry={entry} />
              ))}
          </tbody>
        </PlainTable>
      </Panel>
      {log.hasNextPage && (
        <div>
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Show older ones
          </Button>
        </div>
      )}
    </div>
  )
}

function AuditRow({ entry }: { entry: Doc<'AuditRow'> }) {
  return (
    <tr>
      <td data-breaks>
        <When at={entry.at} />
      </td>
      <td>{entry.actor}</td>
      <th scope="row" data-breaks>
        {entry.action}
      </th>
      <td data-breaks>
        <bdi title={entry.object}>{shortObject(entry.object)}</bdi>
      </td>
      <td className={own.more} data-minor>
        {detailWords(entry.detail)}
      </td>
      <td data-minor>{entry.address}</td>
    </tr>
  )
}
