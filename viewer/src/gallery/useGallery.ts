/** Public runs of all domains. */

import { get } from '../api/client'
import type { Schema } from '../api/types'
import { type Pages, usePages } from '../parts/usePages'

const PAGE = 50
/** How often (ms) it is looked whether another one has finished. */
export const LOOK_AGAIN = 15_000

/** Public runs, the newest first; those that finish meanwhile appear by themselves. */
export function useGallery(): Pages<Schema<'GalleryRun'>> {
  return usePages({
    key: ['/api/gallery/runs'],
    read: (cursor, signal) => get('/api/gallery/runs', { query: { sort: 'newest', limit: PAGE, cursor }, signal }),
    cursorOf: (last) => last.run_id,
    size: PAGE,
    again: () => LOOK_AGAIN,
  })
}
