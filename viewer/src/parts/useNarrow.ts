/** Whether the window is as narrow as a phone. */

import { useSyncExternalStore } from 'react'

const NARROW = '(max-width: 40rem)'

/** True below 640 pixels; follows changes. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(NARROW).matches)
}

function subscribe(listener: () => void): () => void {
  const query = window.matchMedia(NARROW)
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}
