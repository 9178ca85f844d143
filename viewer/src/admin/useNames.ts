/** The names of those with an account, by what the audit log calls them. */

import { useQuery } from '@tanstack/react-query'
import { get } from '../api/client'

const MOST_PAGES = 20

/** Names by `user:ID`; none while they are on their way. Of more than two thousand accounts the others keep their ids. */
export function useNames(): ReadonlyMap<string, string> {
  const names = useQuery({ queryKey: ['/api/admin/users', 'names'], queryFn: ({ signal }) => read(signal) })
  return names.data ?? NONE
}

const NONE: ReadonlyMap<string, string> = new Map()

async function read(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  let cursor: number | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await get('/api/admin/users', { query: { cursor, limit: 100 }, signal })
    for (const user of answer.users) found.set(`user:${user.id}`, user.username)
    if (answer.next_cursor == null) break
    cursor = answer.next_cursor
  }
  return found
}
