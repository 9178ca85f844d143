/** The domains that may be seen. */
import { ask, type Doc } from '../api/platform'
import { type Pages, usePages } from '../platform/usePages'

/** The domains, the newest first, so many at a time. */
export function useDomains(size = 60): Pages<Doc<'Domain'>> {
  return usePages({
    key: ['/v1/domains', size],
    read: (cursor, signal) => ask('get', '/v1/domains', { query: { limit: size, cursor }, signal }),
    cursorOf: (last) => last.id,
    size,
  })
}
