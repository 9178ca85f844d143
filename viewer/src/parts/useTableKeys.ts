import type { KeyboardEvent as ReactKeyboardEvent } from 'react'
import { useShortcut, useShortcutList } from '../keys/useShortcut'

interface TableKeys {
  active: number
  count: number
  /** Rows of one page. */
  page: number
  go: (index: number) => void
  /** Give the table the focus, so that the next key reaches it wherever the focus was. */
  take: () => void
  open?: (index: number) => void
  toggle?: (index: number) => void
  /** Whether `j k enter x` work wherever the focus is. */
  shortcuts: boolean
  /** Further keys that work on the whole page. */
  keys?: readonly { key: string; label: string; action: () => void }[]
}

/** Keys of a table: arrows, page, home and end while it has the focus, `j k enter x` on the whole page when asked for. */
export function useTableKeys({ active, count, page, go, take, open, toggle, shortcuts, keys = [] }: TableKeys) {
  const reach = (index: number) => {
    take()
    go(index)
  }
  const options = { enabled: shortcuts && count > 0, group: 'Table' }
  useShortcut('j', 'Next row', () => reach(active + 1), { ...options, step: true })
  useShortcut('k', 'Previous row', () => reach(active - 1), { ...options, step: true })
  useShortcut('Enter', 'Open the row', () => open?.(active), {
    ...options,
    step: true,
    enabled: options.enabled && open !== undefined,
  })
  useShortcut('x', 'Select the row', () => toggle?.(active), {
    ...options,
    enabled: options.enabled && toggle !== undefined,
  })
  useShortcutList(keys, options)
  return (event: ReactKeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return
    const target = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    }[event.key]
    if (target !== undefined) go(target)
    else if (event.key === 'Enter' && open) open(active)
    else if (event.key === ' ' && toggle) toggle(active)
    else return
    event.preventDefault()
  }
}
