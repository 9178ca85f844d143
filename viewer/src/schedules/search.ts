/** What of the page of schedules lives in its address. */
import { type RawSearch, text } from '../search'

/** The configuration that a new schedule is to run. */
export interface SchedulesSearch {
  configuration?: string
}

/** Read the address of the page. */
export function readSchedulesSearch(raw: RawSearch): SchedulesSearch {
  return { configuration: text(raw.configuration)?.slice(0, 500) }
}
