/** What the address of the secrets of a workspace says. */
import { type RawSearch, texts } from '../search'

/** The names that a run needs. */
interface SecretsSearch {
  needs?: string[]
}

/** Read the address of the secrets. */
export function readSecretsSearch(search: RawSearch): SecretsSearch {
  return { needs: texts(search.needs)?.slice(0, 200) }
}
