import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { plural } from '../format'
import { Icon } from '../parts/Icon'
import { Key } from '../parts/Key'
import styles from './Palette.module.css'
import { type Entry, useEntries } from './useEntries'

/** A field and below it everything that fits: pages, runs, benchmarks, models, views, and what can be done here. */
export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [typed, setTyped] = useState('')
  const [active, setActive] = useState<string>()
  const id = useId()
  const { entries, waiting } = useEntries(typed)
  // The first one is the best; an entry that was moved to stays active while others arrive.
  const at = Math.max(
    entries.findIndex((entry) => entry.id === active),
    0,
  )
  useEffect(() => {
    const shown = dialog.current
    if (shown && !shown.open) shown.showModal()
    field.current?.focus()
    // Closing it gives the focus back to what had it.
    return () => shown?.close()
  }, [])
  useEffect(() => {
    list.current?.querySelector(`[data-at="${at}"]`)?.scrollIntoView?.({ block: 'nearest' })
  }, [at])
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return
    dialog.current?.close()
    entry.choose()
  }
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const page = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key]
    if (page !== undefined && entries.length > 0) {
      const single = Math.abs(page - at) === 1
      const next = single ? (page + entries.length) % entries.length : Math.min(Math.max(page, 0), entries.length - 1)
      setActive(entries[next]?.id)
    } else if (event.key === 'Enter') choose(entries[at])
    else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) dialog.current?.close()
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: escape closes it, the browser sees to that
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label="Search or jump to"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div className={styles.field}>
        <Icon name="search" />
        <input
          ref={field}
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded={entries.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={entries[at] && `${id}-${at}`}
          placeholder="Page, run, benchmark, model, view or action"
          autoComplete="off"
          spellCheck={false}
          maxLength={1_000}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value)
            setActive(undefined)
          }}
          onKeyDown={press}
        />
        <button type="button" className={styles.close} onClick={() => dialog.current?.close()}>
          <span className={styles.escape}>
            <Key keys="Escape" />
          </span>
          <span className={styles.cross}>
            <Icon name="close" />
          </span>
          <span className="hidden-text">Close</span>
        </button>
      </div>
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="What fits" className={styles.list} tabIndex={-1}>
        {entries.map((entry, index) => (
          <Option
            key={entry.id}
            id={`${id}-${index}`}
            entry={entry}
            at={index}
            active={index === at}
            onChoose={() => choose(entry)}
            onPoint={() => setActive(entry.id)}
          />
        ))}
      </div>
      <p className={styles.foot}>
        <span role="status">
          {waiting
            ? 'Searching…'
            : typed.trim() === ''
              ? 'Type to find runs, benchmarks, models and views'
              : plural(entries.length, 'entry', 'entries')}
        </span>
        <span aria-hidden="true" className={styles.keys}>
          <Key keys="ArrowUp" /> <Key keys="ArrowDown" /> move <Key keys="Enter" /> choose
        </span>
      </p>
    </dialog>
  )
}

interface OptionProps {
  id: string
  entry: Entry
  at: number
  active: boolean
  onChoose: () => void
  onPoint: () => void
}

function Option({ id, entry, at, active, onChoose, onPoint }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
    <div
      id={id}
      role="option"
      aria-selected={active}
      tabIndex={-1}
      data-at={at}
      className={styles.option}
      // The focus stays in the field.
      onPointerDown={(event) => event.preventDefault()}
      onPointerMove={(event) => event.pointerType === 'mouse' && !active && onPoint()}
      onClick={onChoose}
    >
      <bdi className={styles.label}>{entry.label}</bdi>
      <span className={styles.kind}>{entry.kind}</span>
      {entry.keys && <Key keys={entry.keys} />}
    </div>
  )
}
