import type { Schema } from '../api/types'

/** Finding domains by words. */

type Found = Pick<Schema<'Domain'>, 'id' | 'name' | 'detail' | 'tags'>

/** The domains whose name, description or tags have every word. */
export function matching<One extends Found>(domains: readonly One[], words: string): One[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  return domains.filter((one) => {
    const text = [one.id, one.name, one.detail ?? '', ...(one.tags ?? [])].join('\n').toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
}
