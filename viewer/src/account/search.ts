/** What the address of the page for logins of programs says. */
import { type RawSearch, text } from '../search'

/** The code that the program shows. */
interface DeviceSearch {
  code?: string
}

/** Read the address of the page for logins of programs. */
export function readDeviceSearch(search: RawSearch): DeviceSearch {
  return { code: text(search.code) }
}
