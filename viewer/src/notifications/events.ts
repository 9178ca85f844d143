/** What can be told, in words. */
import type { Schema } from '../api/types'

export type NotificationEvent = NonNullable<Schema<'NotificationInput'>['events']>[number]

/** The events, and what each is about. */
export const EVENTS: readonly { value: NotificationEvent; label: string; hint?: string }[] = [
  { value: 'finished', label: 'a run has finished' },
  { value: 'failed', label: 'a run has failed', hint: 'also if it is partial' },
  { value: 'stopped', label: 'a run was stopped' },
  { value: 'schedule', label: 'a scheduled run was refused' },
]
