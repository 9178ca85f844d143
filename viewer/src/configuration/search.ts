/** What of the page of a configuration lives in its address. */
import { type RawSearch, text, texts } from '../search'

/** Which configuration, and the two runs that are compared, the earlier one first. */
export interface ConfigurationSearch {
  path?: string
  run?: string[]
}

/** Read the address of the page. */
export function readConfigurationSearch(raw: RawSearch): ConfigurationSearch {
  const run = texts(raw.run)?.slice(0, 2)
  return { path: text(raw.path)?.slice(0, 500), run }
}
