/** Under which name one reviews where there are no accounts; kept by the browser. */
import { useCallback, useSyncExternalStore } from 'react'

const KEY = 'mesocosm-reviewer'
const listeners = new Set<() => void>()

function read(): string {
  try {
    return localStorage.getItem(KEY) ?? ''
  } catch {
    // A browser may forbid storage; then the name is that of the machine.
    return ''
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The chosen name, empty for that of the machine's user or the account, and how to choose another. */
export function useReviewer(): [string, (name: string) => void] {
  const name = useSyncExternalStore(subscribe, read)
  const choose = useCallback((wanted: string) => {
    try {
      localStorage.setItem(KEY, wanted.trim().slice(0, 100))
    } catch {
      return
    }
    for (const listener of listeners) listener()
  }, [])
  return [name, choose]
}
