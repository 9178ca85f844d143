/** What can be done right now and the keys that do it, with the one listener that serves them all. */

/**
 * Something to do, and its keys: one (`j`), two after each other (`g r`), one with Control or Command (`Mod+k`), one with
 * Shift (`Shift+F3`), or none (empty) for what only the palette offers.
 */
export interface Shortcut {
  keys: string
  label: string
  group: string
  /** Whether it is only worth its key, as is a step to the next row; the palette leaves it out. */
  step: boolean
  action: () => void
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

/** All that can be done right now. */
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

const APPLE = typeof navigator !== 'undefined' && /mac|iphone|ipad/i.test(navigator.platform)

/** What `Mod` is called on this machine. */
export const MOD = APPLE ? '⌘' : 'Ctrl'

/** The pressed key as shortcuts name it, for those that work in fields too; nothing for a plain key. */
function modified({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string | undefined {
  const mod = APPLE ? metaKey && !ctrlKey : ctrlKey && !metaKey
  if (mod && !altKey && !shiftKey) return `Mod+${key.toLowerCase()}`
  const plain = !ctrlKey && !metaKey && !altKey
  return plain && /^F\d+$/.test(key) ? `${shiftKey ? 'Shift+' : ''}${key}` : undefined
}

/** Whether this key belongs to what has the focus: typing, pressing a button. */
function taken(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return true
  const target = event.target instanceof Element ? event.target : undefined
  if (target?.closest(TYPING)) return true
  const presses = event.key === 'Enter' || event.key === ' '
  return presses && target?.closest(PRESSABLE) != null
}

function serve(event: KeyboardEvent): void {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return
  const find = (keys: string | undefined) => (keys ? shortcuts.findLast((one) => one.keys === keys) : undefined)
  let found = find(modified(event))
  if (found === undefined) {
    if (taken(event)) return
    const before = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : undefined
    found = find(before) ?? find(event.key)
    first = found ? undefined : { key: event.key, at: event.timeStamp }
  }
  if (!found) return
  event.preventDefault()
  found.action()
}
