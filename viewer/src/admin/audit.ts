/** What an entry of the audit log says, short enough for a row. */

const LONG_ID = /^(.*[0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** What was changed: the ids of a server by what tells them apart. */
export function shortObject(object: string): string {
  return LONG_ID.exec(object)?.[1] ?? object
}

/** The circumstances in words, those without a value left out: "source /srv/maze, version 1". */
export function detailWords(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
}
