/** The runs and episodes that were looked at in this window, the newest first; they are gone with it. */
import { useEffect } from 'react'

export interface Visit {
  kind: 'run' | 'episode'
  id: string
  label: string
}

const KEY = 'mesocosm.recent'
const MOST = 12

/** Those visits, the newest first. */
export function recent(): Visit[] {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
    return Array.isArray(read) ? read.filter(isVisit) : []
  } catch {
    return []
  }
}

function isVisit(one: Partial<Visit> | null): one is Visit {
  return (one?.kind === 'run' || one?.kind === 'episode') && typeof one.id === 'string' && typeof one.label === 'string'
}

/** Forget them, as when somebody leaves a server. */
export function forgetRecent(): void {
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
}

/** Remember what this page shows. */
export function useVisit(kind: Visit['kind'], id: string, label: string): void {
  useEffect(() => {
    const others = recent().filter((one) => one.id !== id)
    const visits = [{ kind, id, label: label.slice(0, 200) }, ...others].slice(0, MOST)
    try {
      sessionStorage.setItem(KEY, JSON.stringify(visits))
    } catch {
      // A browser that keeps nothing remembers nothing.
    }
  }, [kind, id, label])
}
