/** Whether the strip stays in sight: only where it leaves room to read. */

import { useSyncExternalStore } from 'react'

/** The same condition as in the style sheet. */
const ROOMY = '(min-width: 48.01rem) and (min-height: 44rem)'

function subscribe(changed: () => void): () => void {
  const query = window.matchMedia?.(ROOMY)
  query?.addEventListener('change', changed)
  return () => query?.removeEventListener('change', changed)
}

export function useSticks(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia?.(ROOMY).matches ?? false)
}
