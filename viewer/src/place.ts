/** Where the app lives: in front of a server, of a platform, or in a directory of files that any web server can hand out. */

/** What the page's own `place` block says. */
export interface Place {
  mode: 'server' | 'site' | 'platform'
  title?: string
}

/** Read the block; a page without one (or with a broken one) is in front of a server. */
function readPlace(page = typeof document === 'undefined' ? undefined : document): Place {
  const text = page?.getElementById('place')?.textContent ?? '{}'
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found === 'object' && found !== null && 'mode' in found) {
      const title = 'title' in found && typeof found.title === 'string' ? found.title : undefined
      if (found.mode === 'site' || found.mode === 'platform') return { mode: found.mode, title }
    }
  } catch {
    // Falls through: the server is the place that can say more.
  }
  return { mode: 'server' }
}

/** The place of this page. */
export const place: Place = readPlace()
