import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Secret } from '../account/Secret'
import { get } from '../api/client'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { Skeleton } from '../parts/Skeleton'
import { AddUser } from './AddUser'
import { UserTable } from './UserTable'

/** Something shown once: whose password, and the password. */
export interface Made {
  username: string
  password: string
}

/** All accounts, and a form that adds one. */
export function UsersView() {
  const [made, setMade] = useState<Made>()
  const users = useInfiniteQuery({
    queryKey: ['/api/admin/users', 'pages'],
    queryFn: ({ pageParam, signal }) => get('/api/admin/users', { query: { cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        {made && <Secret label={`Password of ${made.username}`} secret={made.password} />}
        <Panel title="Users" flush>
          {users.error && <Failure error={users.error} title="The users could not be loaded" />}
          {users.data ? (
            <UserTable users={users.data.pages.flatMap((page) => page.users)} onPassword={setMade} />
          ) : (
            <Skeleton height="12rem" />
          )}
        </Panel>
        {users.hasNextPage && (
          <div>
            <Button busy={users.isFetchingNextPage} onClick={() => void users.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </div>
      <Panel title="Add a user">
        <AddUser onPassword={setMade} />
      </Panel>
    </div>
  )
}
