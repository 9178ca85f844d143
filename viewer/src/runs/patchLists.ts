import type { QueryClient } from '@tanstack/react-query'
import { type Change, type Page, patchedPage } from './page'

const LISTS = { queryKey: ['/api/runs', null] }

/** Put changed runs into all lists that are held, in place; lists of which runs are gone are read again. */
export function patchLists(client: QueryClient, change: Change): void {
  let shorter = false
  for (const [key, page] of client.getQueriesData<Page>(LISTS)) {
    if (page === undefined) continue
    const patched = patchedPage(page, change)
    if (patched === page) continue
    shorter ||= patched.items.length < page.items.length
    client.setQueryData(key, patched, { updatedAt: client.getQueryState(key)?.dataUpdatedAt })
  }
  if (shorter) void client.invalidateQueries(LISTS)
}

/** Ids of the runs in all lists that are held. */
export function heldRuns(client: QueryClient): Set<string> {
  const lists = client.getQueriesData<Page>(LISTS)
  return new Set(lists.flatMap(([, page]) => page?.items.map((run) => run.id) ?? []))
}
