/** Lists of the server that are read page by page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'

/** Where a list is read from. */
export interface PagesOptions<One> {
  /** What it is kept under: the path, and what was asked. */
  key: QueryKey
  /** Read the page after the one that ended with `cursor`. */
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<readonly One[]>
  /** What the page after this one is asked for by. */
  cursorOf: (last: One) => string
  /** Entries of a whole page; a shorter one is the last. */
  size: number
  /** How often (ms) it is read again, looking at what there is. */
  again?: (items: readonly One[]) => number | false
}

/** A list as far as it was read, and reading on. */
export interface Pages<One> {
  items: readonly One[] | undefined
  error: Error | null
  more: boolean
  busy: boolean
  onMore: () => void
  refetch: () => void
}

/** Read a list page by page. */
export function usePages<One>({ key, read, cursorOf, size, again }: PagesOptions<One>): Pages<One> {
  const query = useInfiniteQuery({
    queryKey: [...key, 'pages'],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: readonly One[]) => {
      const last = page.at(-1)
      return last === undefined || page.length < size ? undefined : cursorOf(last)
    },
    refetchInterval: ({ state }) => again?.(state.data?.pages.flat() ?? []) ?? false,
  })
  return {
    items: query.data?.pages.flat(),
    error: query.error,
    more: query.hasNextPage,
    busy: query.isFetchingNextPage,
    onMore: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  }
}
