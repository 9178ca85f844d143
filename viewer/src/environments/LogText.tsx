import { useEffect, useRef } from 'react'
import styles from '../platform/platform.module.css'

const NEAR = 40

/** What was written while something went on; while it grows, its end stays in view unless one has scrolled up. */
export function LogText({
  text,
  follow,
  empty,
  label,
}: {
  text: string
  follow: boolean
  empty: string
  label: string
}) {
  const box = useRef<HTMLPreElement>(null)
  const atEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves when the text does
  useEffect(() => {
    if (follow && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [text, follow])
  if (text === '') return <p className="muted">{empty}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
    <section aria-label={label} tabIndex={-1}>
      <pre
        ref={box}
        className={styles.log}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR
        }}
      >
        {text}
      </pre>
    </section>
  )
}
