import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'
import { count } from '../format'
import styles from './Tabs.module.css'

/** Views of the same thing, one at a time. */
interface TabsProps<Id extends string> {
  label: string
  tabs: readonly { id: Id; label: string; count?: number }[]
  selected: Id
  onSelect: (id: Id) => void
  /** Content of the selected one. */
  children: ReactNode
}

/** Tabs; arrows move between them. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Id>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const press = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === selected)
    const target = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
    const next = target === undefined ? undefined : tabs[(target + tabs.length) % tabs.length]
    if (!next) return
    event.preventDefault()
    onSelect(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus()
  }
  return (
    <div className={styles.root}>
      <div ref={list} role="tablist" aria-label={label} className={styles.list} onKeyDown={press}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            data-tab={tab.id}
            aria-selected={tab.id === selected}
            aria-controls={tab.id === selected ? `${id}-panel` : undefined}
            tabIndex={tab.id === selected ? 0 : -1}
            className={styles.tab}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
            {tab.count !== undefined && <span className={styles.count}>{count(tab.count)}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} className={styles.panel}>
        {children}
      </div>
    </div>
  )
}
