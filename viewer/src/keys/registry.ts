/** The shortcuts that work right now, and the one listener that serves them all. */

/** A key or two keys one after the other (`g r`), and what they do. */
export interface Shortcut {
  keys: string
  label: string
  group: string
  action: (event: KeyboardEvent) => void
}

const SEQUENCE_MS = 900

const shortcuts: Shortcut[] = []
const listeners = new Set<() => void>()
let shown: readonly Shortcut[] = []
let first: { key: string; at: number } | undefined

function tell(): void {
  shown = [...shortcuts]
  for (const listener of listeners) listener()
}

/** Add a shortcut until the returned function is called; the one added last wins. */
export function register(shortcut: Shortcut): () => void {
  if (shortcuts.length === 0) window.addEventListener('keydown', serve)
  shortcuts.push(shortcut)
  tell()
  return () => {
    shortcuts.splice(shortcuts.indexOf(shortcut), 1)
    if (shortcuts.length === 0) window.removeEventListener('keydown', serve)
    tell()
  }
}

/** All shortcuts that work right now. */
export function allShortcuts(): readonly Shortcut[] {
  return shown
}

/** Be told when they change. */
export function watch(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const TYPING = 'input:not([type=checkbox],[type=radio],[type=range],[type=button]), textarea, select, [contenteditable]'
const PRESSABLE = 'a[href], button, summary, [role=button], [role=option], [role=menuitem], [role=tab]'

/** Whether this key belongs to what has the focus: typing, pressing a button, a dialog that is open. */
function taken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true
  if (document.querySelector('dialog[open]')) return true
  const target = event.target instanceof Element ? event.target : undefined
  if (target?.closest(TYPING)) return true
  const presses = event.key === 'Enter' || event.key === ' '
  return presses && target?.closest(PRESSABLE) != null
}

function serve(event: KeyboardEvent): void {
  if (taken(event)) return
  const before = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : undefined
  const find = (keys: string | undefined) => shortcuts.findLast((shortcut) => shortcut.keys === keys)
  const found = find(before) ?? find(event.key)
  first = found ? undefined : { key: event.key, at: event.timeStamp }
  if (!found) return
  event.preventDefault()
  found.action(event)
}
