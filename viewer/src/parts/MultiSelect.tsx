import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { count } from '../format'
import { Icon } from './Icon'
import styles from './MultiSelect.module.css'
import { useLeave } from './useLeave'

/** A value to filter by, and how many there are of it. */
interface MultiSelectOption {
  value: string
  label?: string
  count?: number
}

/** Any number of values to choose. */
interface MultiSelectProps {
  label: string
  options: readonly MultiSelectOption[]
  selected: readonly string[]
  onChange: (selected: string[]) => void
  /** Nothing on the button says how many are chosen: it is no filter. */
  quiet?: boolean
}

const FILTER_FROM = 9

/** A filter: a button that opens a list of boxes to tick. Arrows move, space ticks, escape closes. */
export function MultiSelect({ label, options, selected, onChange, quiet = false }: MultiSelectProps) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    if (open) root.current?.querySelector('input')?.focus()
  }, [open])
  useLeave(root, open, setOpen)

  const known = [...options, ...unknown(options, selected)]
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      setOpen(false)
      button.current?.focus()
    }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      moveFocus(root.current, event.key === 'ArrowDown' ? 1 : -1)
    }
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: closes when the focus leaves it, nothing more
    <div
      ref={root}
      className={styles.root}
      onBlur={(event) => {
        if (event.relatedTarget && !root.current?.contains(event.relatedTarget)) setOpen(false)
      }}
    >
      <button
        ref={button}
        type="button"
        className={styles.button}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        data-set={(!quiet && selected.length > 0) || undefined}
        onClick={() => setOpen(!open)}
      >
        {label}
        {!quiet && selected.length > 0 && (
          <span className={styles.chosen}>{selected.length === 1 ? nameOf(known, selected[0]) : selected.length}</span>
        )}
        <Icon name="chevronDown" size={14} />
      </button>
      {open && (
        // biome-ignore lint/a11y/noStaticElementInteractions: only hands keys of its fields on
        <div id={id} className={styles.popover} data-end={isAtEnd(button.current) || undefined} onKeyDown={press}>
          <Choices label={label} known={known} selected={selected} onChange={onChange} />
        </div>
      )}
    </div>
  )
}

interface ChoicesProps extends Pick<MultiSelectProps, 'label' | 'selected' | 'onChange'> {
  known: readonly MultiSelectOption[]
}

function Choices({ label, known, selected, onChange }: ChoicesProps) {
  const [typed, setTyped] = useState('')
  const shown = known.filter((option) => (option.label ?? option.value).toLowerCase().includes(typed.toLowerCase()))
  const toggle = (value: string) =>
    onChange(selected.includes(value) ? selected.filter((one) => one !== value) : [...selected, value])
  return (
    <>
      {known.length >= FILTER_FROM && (
        <input
          type="search"
          className={styles.search}
          aria-label={`Find ${label.toLowerCase()}`}
          placeholder="Find…"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      <fieldset className={styles.list}>
        <legend className="hidden-text">{label}</legend>
        {shown.map((option) => (
          <label key={option.value} className={styles.option}>
            <input type="checkbox" checked={selected.includes(option.value)} onChange={() => toggle(option.value)} />
            <span className={styles.name} data-full={option.label ?? option.value}>
              {option.label ?? option.value}
            </span>
            {option.count !== undefined && <span className={styles.count}>{count(option.count)}</span>}
          </label>
        ))}
        {shown.length === 0 && <p className={styles.none}>No options</p>}
      </fieldset>
      {selected.length > 0 && (
        <button type="button" className={styles.clear} onClick={() => onChange([])}>
          Clear
        </button>
      )}
    </>
  )
}

/** Values of the address that no option offers stay visible, so that they can be taken away. */
function unknown(options: readonly MultiSelectOption[], selected: readonly string[]): MultiSelectOption[] {
  return selected.filter((value) => !options.some((option) => option.value === value)).map((value) => ({ value }))
}

function nameOf(options: readonly MultiSelectOption[], value: string | undefined): string {
  return options.find((option) => option.value === value)?.label ?? value ?? ''
}

function moveFocus(root: HTMLElement | null, by: number): void {
  const fields = [...(root?.querySelectorAll<HTMLElement>('input') ?? [])]
  const at = fields.indexOf(document.activeElement as HTMLElement)
  fields[Math.max(0, Math.min(fields.length - 1, at + by))]?.focus()
}

function isAtEnd(button: HTMLElement | null): boolean {
  return button !== null && button.getBoundingClientRect().left > window.innerWidth - 288
}
