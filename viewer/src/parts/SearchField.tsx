import { useEffect, useRef, useState } from 'react'
import { Icon } from './Icon'
import { Key } from './Key'
import styles from './SearchField.module.css'

/** A text to look for. */
interface SearchFieldProps {
  label: string
  value: string
  /** Called when typing has paused. */
  onChange: (value: string) => void
  placeholder?: string
  /** The field of the page that `/` goes to; one per page. */
  page?: boolean
}

const PAUSE_MS = 200

/** A field for free text; escape empties it, then leaves it. */
export function SearchField({ label, value, onChange, placeholder = 'Search…', page = false }: SearchFieldProps) {
  const [typed, setTyped] = useState(value)
  const told = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    // A value that this field itself reported comes back late; taking it over would swallow what was typed since.
    if (value !== told.current) setTyped(value)
    told.current = value
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const tell = (text: string) => {
    told.current = text
    onChange(text)
  }
  const change = (text: string) => {
    setTyped(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => tell(text), PAUSE_MS)
  }
  return (
    <search className={styles.field}>
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        maxLength={1000}
        data-page-search={page || undefined}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            clearTimeout(timer.current)
            tell(typed)
          }
          if (event.key === 'Escape' && typed === '') event.currentTarget.blur()
          else if (event.key === 'Escape') {
            event.preventDefault()
            clearTimeout(timer.current)
            setTyped('')
            tell('')
          }
        }}
      />
      {page && typed === '' && (
        <span className={styles.hint} aria-hidden="true">
          <Key keys="/" />
        </span>
      )}
    </search>
  )
}
