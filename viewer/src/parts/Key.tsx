import { MOD } from '../keys/registry'
import styles from './Key.module.css'

const NAMES: Record<string, string> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  ' ': 'space',
  Enter: 'enter',
  Escape: 'esc',
  Mod: MOD,
}

/** A key, or several after each other, as they look on a keyboard: `<Key keys="g r" />`, `<Key keys="Mod+k" />`. */
export function Key({ keys }: { keys: string }) {
  const parts = keys === ' ' ? [' '] : keys.split(/[ +]/)
  return (
    <span className={styles.keys}>
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same key may come twice and the list never changes
        <kbd key={at}>{NAMES[part] ?? part}</kbd>
      ))}
    </span>
  )
}
