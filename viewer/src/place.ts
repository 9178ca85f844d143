/** Where the app runs: on a laptop (`mesocosm view`), on a team's server (`mesocosm serve`), or as a static site. */

/** What the page's own `place` block says. */
export interface Place {
  mode: 'laptop' | 'server' | 'site'
  title?: string
}

/** Read the block; a page without one (or with a broken one) runs on a laptop. */
function readPlace(page = typeof document === 'undefined' ? undefined : document): Place {
  const text = page?.getElementById('place')?.textContent ?? '{}'
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found === 'object' && found !== null && 'mode' in found) {
      const title = 'title' in found && typeof found.title === 'string' ? found.title : undefined
      if (found.mode === 'site' || found.mode === 'server') return { mode: found.mode, title }
    }
  } catch {
    // Falls through to the default.
  }
  return { mode: 'laptop' }
}

/** The place of this page. */
export const place: Place = readPlace()
