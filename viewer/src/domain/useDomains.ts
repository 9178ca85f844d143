/** The domains that may be seen. */

import { get } from '../api/client'
import type { Schema } from '../api/types'
import { type Pages, usePages } from '../parts/usePages'

/** The domains, the newest first, so many at a time. */
export function useDomains(size = 60): Pages<Schema<'Domain'>> {
  return usePages({
    key: ['/api/domains', size],
    read: (cursor, signal) => get('/api/domains', { query: { limit: size, cursor }, signal }),
    cursorOf: (last) => last.id,
    size,
  })
}
