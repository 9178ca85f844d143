import { type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { useShortcutList } from '../keys/useShortcut'
import { Button, type ButtonProps } from './Button'
import { Icon, type IconName } from './Icon'
import { IconButton } from './IconButton'
import styles from './Menu.module.css'
import { useLeave } from './useLeave'

/** Pixels between a button and its list, and between that and the edge of the window. */
const GAP = 4

/** Whether the browser has a layer above the page. */
const LAYERED = 'showPopover' in HTMLElement.prototype

/** One thing to do, or to download from an address. */
export interface MenuItem {
  label: string
  icon?: IconName
  /** One line more about it. */
  note?: string
  danger?: boolean
  disabled?: boolean
  onChoose?: () => void
  /** An address that is downloaded. */
  href?: string
}

/** A button and the list that it opens. */
interface MenuProps {
  label: string
  icon?: IconName
  /** Show the picture only; the label is still said. */
  small?: boolean
  look?: ButtonProps['look']
  items: readonly MenuItem[]
  /** Whether the palette offers them too, as what can be done on this page. */
  offered?: boolean
}

/** A menu of things to do. Arrows, Home and End move, escape closes and goes back to the button. */
export function Menu({ label, icon, small = false, look, items, offered = false }: MenuProps) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  usePlace(root, list, open, setOpen)
  useShortcutList(offered ? items.filter(({ disabled }) => !disabled).map((item) => action(label, item)) : [])
  useEffect(() => {
    if (open) entries(root.current).at(0)?.focus({ preventScroll: true })
  }, [open])
  useLeave(root, open, setOpen)
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const end = { Home: 0, End: -1 }[event.key]
    if (step !== undefined) moveFocus(root.current, step)
    else if (end !== undefined) entries(root.current).at(end)?.focus()
    else if (event.key === 'Escape') close()
    else if (event.key === 'Tab') setOpen(false)
    else return
    if (event.key !== 'Tab') event.preventDefault()
  }
  const choose = (item: MenuItem) => {
    close()
    item.onChoose?.()
  }
  const opener = { 'aria-haspopup': 'menu', 'aria-expanded': open, 'aria-controls': open ? id : undefined } as const
  return (
    <div ref={root} className={styles.root}>
      {small ? (
        <IconButton icon={icon ?? 'menu'} label={label} onClick={() => setOpen(!open)} {...opener} />
      ) : (
        <Button icon={icon} look={look} onClick={() => setOpen(!open)} {...opener}>
          <span className={styles.label}>{label}</span>
          <Icon name="chevronDown" size={14} />
        </Button>
      )}
      {open && (
        <div
          ref={list}
          id={id}
          popover={LAYERED ? 'manual' : undefined}
          role="menu"
          aria-label={label}
          tabIndex={-1}
          className={styles.list}
          onKeyDown={press}
        >
          {items.map((item) => (
            <Entry key={item.label} item={item} onChoose={() => choose(item)} />
          ))}
        </div>
      )}
    </div>
  )
}

/** An item as an action of the page. */
function action(menu: string, { label, href, onChoose }: MenuItem) {
  const does = href === undefined ? () => onChoose?.() : () => window.location.assign(href)
  return { key: '', label: href === undefined ? label : `${menu}: ${label}`, action: does }
}

function Entry({ item, onChoose }: { item: MenuItem; onChoose: () => void }) {
  const { label, icon, note, danger, disabled, href } = item
  const inside = (
    <>
      <Icon name={icon ?? 'blank'} />
      <span>
        {label}
        {note && <span className={styles.note}>{note}</span>}
      </span>
    </>
  )
  if (href !== undefined) {
    return (
      <a role="menuitem" tabIndex={-1} className={styles.item} href={href} download onClick={onChoose}>
        {inside}
      </a>
    )
  }
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      className={styles.item}
      data-danger={danger || undefined}
      disabled={disabled}
      onClick={onChoose}
    >
      {inside}
    </button>
  )
}

/**
 * Show an open list above everything, beside its button: a table that scrolls would cut it off. Whoever scrolls away
 * closes it.
 */
function usePlace(
  root: RefObject<HTMLElement | null>,
  list: RefObject<HTMLElement | null>,
  open: boolean,
  leave: (open: false) => void,
): void {
  useLayoutEffect(() => {
    const shown = list.current
    const box = root.current?.getBoundingClientRect()
    if (!open || shown === null || box === undefined) return
    if (LAYERED) shown.showPopover()
    const left = box.left > window.innerWidth / 2 ? box.right - shown.offsetWidth : box.left
    const below = box.bottom + GAP
    const fits = below + shown.offsetHeight <= window.innerHeight || box.top < shown.offsetHeight + GAP
    shown.style.left = `${Math.max(GAP, left)}px`
    shown.style.top = `${fits ? below : box.top - GAP - shown.offsetHeight}px`
    const close = (event: Event) => {
      if (event.target !== shown) leave(false)
    }
    document.addEventListener('scroll', close, true)
    window.addEventListener('resize', close)
    return () => {
      document.removeEventListener('scroll', close, true)
      window.removeEventListener('resize', close)
    }
  }, [root, list, open, leave])
}

function entries(root: HTMLElement | null): HTMLElement[] {
  return [...(root?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
}

function moveFocus(root: HTMLElement | null, by: number): void {
  const all = entries(root)
  const at = all.indexOf(document.activeElement as HTMLElement)
  all[(at + by + all.length) % all.length]?.focus()
}
