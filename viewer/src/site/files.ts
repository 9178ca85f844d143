/** The files of a static site: each is read once while it is of use. */
import { ApiError } from '../api/error'
import { send } from '../api/send'

/** Files that are kept: lists, and some windows of a long trace. */
const KEPT = 80

const held = new Map<string, Promise<unknown>>()

/** Read `data/<name>.json`. Throws `ApiError`; a file that failed is asked for again the next time. */
export function readFile<T>(name: string): Promise<T> {
  const known = held.get(name)
  const found = known ?? send('GET', new URL(`./data/${name}.json`, document.baseURI).href)
  held.delete(name)
  held.set(name, found)
  if (known === undefined) found.catch(() => held.delete(name))
  const oldest = held.keys().next()
  if (held.size > KEPT && !oldest.done) held.delete(oldest.value)
  return found as Promise<T>
}

/** What the files of a run or an episode are called: its id, or that in hexadecimal where it is no plain word. */
export function fileName(id: string): string {
  if (/^[0-9a-z_-]{1,80}$/.test(id)) return id
  const bytes = new TextEncoder().encode(id)
  return `~${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The error for something that the site does not have. */
export function absent(what: string): ApiError {
  return new ApiError(404, 'unknown', `This site has no ${what}. It contains only the runs that were exported.`)
}

/** Forget everything, for tests. */
export function forgetFiles(): void {
  held.clear()
}
