import { useSyncExternalStore } from 'react'
import { allShortcuts, type Shortcut, watch } from './registry'

/** All shortcuts that work right now. */
export function useShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(watch, allShortcuts)
}
