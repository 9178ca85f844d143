/** Addresses of the API, relative to the page's base so that the app also works below a prefix. */
type Value = string | number | boolean
/** What may stand in a query; lists repeat their key, missing values are left out. */
export type QueryValues = Record<string, Value | readonly Value[] | null | undefined>

/** Put parameters into a path: `/api/runs/{run_id}` with `{run_id: 'a/b'}` is `/api/runs/a%2Fb`. */
export function fillPath(path: string, params: Record<string, Value> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`The address ${path} needs ${name}.`)
    return encodeURIComponent(String(value))
  })
}

/** Write a query with its question mark; empty when there is nothing to say. */
export function writeQuery(query: QueryValues = {}): string {
  const written = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined) written.append(name, String(one))
    }
  }
  const text = written.toString()
  return text ? `?${text}` : ''
}

/** The address of a path of the API as the browser fetches it. */
export function address(path: string, params?: Record<string, Value>, query?: QueryValues): string {
  return new URL(`.${fillPath(path, params)}${writeQuery(query)}`, document.baseURI).href
}
