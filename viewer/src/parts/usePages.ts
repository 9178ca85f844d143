/** Lists of the server that are read page by page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'

/** A page that names the cursor of the next one. */
interface CursorPage<One> {
  items: readonly One[]
  cursor: string | null
}

/** Where a list is read from. */
interface PagesOptions<One> {
  /** What it is kept under: the path, and what was asked. */
  key: QueryKey
  /** Read the page after the one that ended with `cursor`. */
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<readonly One[] | CursorPage<One>>
  /** The cursor of the page after this entry, where pages come without one. */
  cursorOf?: (last: One) => string
  /** Entries of a whole page where pages come without a cursor; a shorter one is the last. */
  size?: number
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
export function usePages<One>({ key, read, cursorOf, size = 0, again }: PagesOptions<One>): Pages<One> {
  const query = useInfiniteQuery({
    queryKey: [...key, 'pages'],
    queryFn: async ({ pageParam, signal }): Promise<CursorPage<One>> => {
      const page = await read(pageParam, signal)
      if ('items' in page) return page
      const last = page.at(-1)
      return { items: page, cursor: last === undefined || page.length < size ? null : (cursorOf?.(last) ?? null) }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: CursorPage<One>) => page.cursor ?? undefined,
    refetchInterval: ({ state }) => again?.(state.data?.pages.flatMap(({ items }) => items) ?? []) ?? false,
  })
  return {
    items: query.data?.pages.flatMap(({ items }) => items),
    error: query.error,
    more: query.hasNextPage,
    busy: query.isFetchingNextPage,
    onMore: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  }
}
