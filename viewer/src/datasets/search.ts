/** What the address of a dataset says. */
import { index, type RawSearch } from '../search'

/** The version that is shown; without, the newest that is ready. */
interface DatasetSearch {
  version?: number
}

/** Read the address of a dataset. */
export function readDatasetSearch(search: RawSearch): DatasetSearch {
  return { version: index(search.version) || undefined }
}
