/** Which of the two appearances is shown: the system's, unless the reader chose one. */
import { useSyncExternalStore } from 'react'

/** What the reader can choose. */
export type Mode = 'system' | 'light' | 'dark'

const KEY = 'mesocosm.theme'
const listeners = new Set<() => void>()

function stored(): Mode {
  try {
    const text = localStorage.getItem(KEY)
    return text === 'light' || text === 'dark' ? text : 'system'
  } catch {
    return 'system'
  }
}

/** Put the choice on the document; called once before the first paint and after every change. */
export function applyMode(mode: Mode = stored()): void {
  if (mode === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = mode
}

/** Remember and show a choice. */
export function chooseMode(mode: Mode): void {
  try {
    if (mode === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, mode)
  } catch {
    // A browser that keeps nothing still shows the choice until the page is closed.
  }
  applyMode(mode)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}

function shown(): Mode {
  const theme = document.documentElement.dataset.theme
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

/** The choice that is in effect. */
export function useMode(): Mode {
  return useSyncExternalStore(subscribe, shown)
}
