import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { Button, type ButtonProps } from './Button'
import { Icon, type IconName } from './Icon'
import { IconButton } from './IconButton'
import styles from './Menu.module.css'
import { useLeave } from './useLeave'

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
export interface MenuProps {
  label: string
  icon?: IconName
  /** Show the picture only; the label is still said. */
  small?: boolean
  look?: ButtonProps['look']
  items: readonly MenuItem[]
}

/** A menu of things to do. Arrows move, escape closes and goes back to the button. */
export function Menu({ label, icon, small = false, look, items }: MenuProps) {
  const [open, setOpen] = useState(false)
  const [end, setEnd] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  useEffect(() => {
    if (open) focusItem(root.current, 0)
  }, [open])
  useLeave(root, open, setOpen)
  const toggle = () => {
    const box = root.current?.getBoundingClientRect()
    setEnd(box !== undefined && box.left > window.innerWidth / 2)
    setOpen(!open)
  }
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) moveFocus(root.current, step)
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
        <IconButton icon={icon ?? 'menu'} label={label} onClick={toggle} {...opener} />
      ) : (
        <Button icon={icon} look={look} onClick={toggle} {...opener}>
          {label}
          <Icon name="chevronDown" size={14} />
        </Button>
      )}
      {open && (
        <div
          id={id}
          role="menu"
          aria-label={label}
          tabIndex={-1}
          className={styles.list}
          data-end={end || undefined}
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

function entries(root: HTMLElement | null): HTMLElement[] {
  return [...(root?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
}

function focusItem(root: HTMLElement | null, at: number): void {
  entries(root)[at]?.focus()
}

function moveFocus(root: HTMLElement | null, by: number): void {
  const all = entries(root)
  const at = all.indexOf(document.activeElement as HTMLElement)
  all[(at + by + all.length) % all.length]?.focus()
}
