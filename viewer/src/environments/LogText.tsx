import { useEffect, useRef } from 'react'
import styles from '../parts/panels.module.css'
import { AnsiText } from '../renderers/AnsiText'

const NEAR = 40

/** What was written, and how it is shown. */
interface LogTextProps {
  label: string
  text: string
  /** More is being written. */
  follow: boolean
  /** What stands there while there is nothing. */
  empty: string
}

/** What was written while something went on; while it grows, its end stays in view unless one has scrolled up. */
export function LogText({ label, text, follow, empty }: LogTextProps) {
  const box = useRef<HTMLElement>(null)
  const atEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves when the text does
  useEffect(() => {
    if (follow && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [text, follow])
  if (text === '') return <p className="muted">{empty}</p>
  return (
    <section
      ref={box}
      aria-label={label}
      className={styles.log}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR
      }}
    >
      <pre>
        <AnsiText text={text} />
      </pre>
    </section>
  )
}
