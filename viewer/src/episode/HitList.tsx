import { useEffect, useRef } from 'react'
import { count } from '../format'
import { kindName } from './labels'
import styles from './side.module.css'
import type { Hits } from './useHits'

const SHOWN = 300

/** Where the text was found. */
export function HitList({ hits, at, onHit }: { hits: Hits; at: number; onHit: (at: number) => void }) {
  const list = useRef<HTMLDivElement>(null)
  // Of very many hits those around the current one are listed.
  const first = Math.max(0, Math.min(at - SHOWN / 2, hits.items.length - SHOWN))
  useEffect(() => {
    if (at >= 0) list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [at])
  return (
    <>
      <p className={styles.note}>
        {count(hits.items.length)}
        {hits.many ? ' hits at least' : hits.items.length === 1 ? ' hit' : ' hits'}
      </p>
      <div ref={list} className={styles.list}>
        {hits.items.slice(first, first + SHOWN).map((hit, index) => (
          <button
            key={hit.seq}
            type="button"
            className={styles.hit}
            aria-current={first + index === at || undefined}
            onClick={() => onHit(first + index)}
          >
            <span className={styles.where}>
              step {count(hit.step)} · {kindName(hit.kind)}
            </span>
            {hit.before}
            <mark>{hit.found}</mark>
            {hit.after}
          </button>
        ))}
      </div>
    </>
  )
}
