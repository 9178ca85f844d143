import { useState } from 'react'
import { Dialog } from '../parts/Dialog'
import { Key } from '../parts/Key'
import styles from './ShortcutList.module.css'
import { useShortcut } from './useShortcut'
import { useShortcuts } from './useShortcuts'

/** The list of shortcuts that `?` opens. */
export function ShortcutList() {
  const [open, setOpen] = useState(false)
  useShortcut('?', 'Keyboard shortcuts', () => setOpen(true), { group: 'Everywhere' })
  const shortcuts = useShortcuts().filter(({ keys }) => keys !== '')
  const groups = [...new Set(shortcuts.map((shortcut) => shortcut.group))]
  return (
    <Dialog open={open} onClose={() => setOpen(false)} title="Keyboard shortcuts">
      {groups.map((group) => (
        <section key={group} className={styles.group}>
          <h3>{group}</h3>
          <dl className={styles.list}>
            {shortcuts
              .filter((shortcut, at) => shortcut.group === group && lastOf(shortcuts, shortcut.keys) === at)
              .map((shortcut) => (
                <div key={shortcut.keys} className={styles.row}>
                  <dt>{shortcut.label}</dt>
                  <dd>
                    <Key keys={shortcut.keys} />
                  </dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
      <p className={styles.licences}>
        <a href="licences.txt">Licences of the packages in this app</a>
      </p>
    </Dialog>
  )
}

function lastOf(shortcuts: readonly { keys: string }[], keys: string): number {
  return shortcuts.findLastIndex((shortcut) => shortcut.keys === keys)
}
