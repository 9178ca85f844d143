import { type ReactNode, useId, useState } from 'react'
import styles from './Tooltip.module.css'

/** More words about something, when the pointer or the focus is on it; escape hides them. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [place, setPlace] = useState<{ left: number; top: number }>()
  const id = useId()
  const show = (target: HTMLElement) => {
    const box = target.getBoundingClientRect()
    setPlace({ left: Math.max(8, Math.min(box.left, window.innerWidth - 296)), top: box.bottom + 6 })
  }
  const hide = () => setPlace(undefined)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: shows words only; what is inside is what one acts on
    <span
      className={styles.anchor}
      aria-describedby={place ? id : undefined}
      onPointerEnter={(event) => show(event.currentTarget)}
      onPointerLeave={hide}
      onFocus={(event) => show(event.currentTarget)}
      onBlur={hide}
      onKeyDown={(event) => event.key === 'Escape' && hide()}
    >
      {children}
      {place && (
        <span role="tooltip" id={id} className={styles.tooltip} style={place}>
          {text}
        </span>
      )}
    </span>
  )
}
