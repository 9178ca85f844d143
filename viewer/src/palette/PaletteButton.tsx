import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useShortcut } from '../keys/useShortcut'
import { Icon } from '../parts/Icon'
import { Key } from '../parts/Key'
import { place } from '../place'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'
import styles from './PaletteButton.module.css'

const Palette = lazy(async () => ({ default: (await import('./Palette')).Palette }))

/** Opens the palette, as `Ctrl K` does; nothing of it is loaded before. */
export function PaletteButton() {
  const [open, setOpen] = useState(false)
  useShortcut('Mod+k', 'Search or jump to', () => setOpen(true), { group: 'Everywhere', step: true })
  useOtherPages()
  return (
    <>
      <button
        type="button"
        className={styles.button}
        data-short={place.mode === 'server' || undefined}
        aria-label="Search or jump to"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" />
        <span className={styles.words}>Search or jump to</span>
        <span className={styles.key}>
          <Key keys="Mod+k" />
        </span>
      </button>
      {open && (
        <Suspense fallback={null}>
          <Palette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

/** The pages that the bar has no word for. */
function useOtherPages(): void {
  const navigate = useNavigate()
  const me = useMe()
  const group = 'Everywhere'
  const known = me !== undefined && me.type !== 'anonymous'
  useShortcut('g s', 'Go to Search', () => void navigate({ to: '/search' }), {
    group,
    enabled: place.mode === 'laptop' || known,
  })
  useShortcut('', 'New run', () => void navigate({ to: '/new-run' }), { group, enabled: known })
  useShortcut('', 'Go to Account and tokens', () => void navigate({ to: '/account' }), { group, enabled: isMember(me) })
}
