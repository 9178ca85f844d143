import { useEffect, useRef } from 'react'
import { register } from './registry'

/** More about a shortcut. */
interface ShortcutOptions {
  /** Heading in the list of shortcuts. */
  group?: string
  /** False while it does not apply. */
  enabled?: boolean
  /** Whether it is only worth its key, as is a step to the next row. */
  step?: boolean
}

/**
 * A keyboard shortcut while the component is shown. `keys` is `KeyboardEvent.key` (`j`, `Enter`, `ArrowDown`, `?`) or two of
 * them with a space between (`g r`). Typing in fields, modified keys and open dialogs never trigger it; `Mod+k`, `F3` and
 * `Shift+F3` work in fields too. Without keys it is an action that the palette offers.
 */
export function useShortcut(
  keys: string,
  label: string,
  action: () => void,
  { group = 'This page', enabled = true, step = false }: ShortcutOptions = {},
): void {
  const latest = useRef(action)
  useEffect(() => {
    latest.current = action
  }, [action])
  useEffect(() => {
    if (!enabled) return
    return register({ keys, label, group, step, action: () => latest.current() })
  }, [keys, label, group, enabled, step])
}

/** Any number of shortcuts while the component is shown, as `useShortcut` has one. */
export function useShortcutList(
  list: readonly { key: string; label: string; action: () => void }[],
  { group = 'This page', enabled = true }: ShortcutOptions = {},
): void {
  const latest = useRef(list)
  useEffect(() => {
    latest.current = list
  }, [list])
  const words = JSON.stringify(list.map(({ key, label }) => [key, label]))
  useEffect(() => {
    if (!enabled) return
    const known: [string, string][] = JSON.parse(words)
    const ends = known.map(([keys, label], at) =>
      register({ keys, label, group, step: false, action: () => latest.current[at]?.action() }),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [words, group, enabled])
}
