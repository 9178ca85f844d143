import { useMemo, useState } from 'react'
import type { Frame } from '../../episode/frame'
import { Button } from '../../parts/Button'
import { Icon } from '../../parts/Icon'
import { referenceOf, textOf } from '../../renderers/content'
import { DiffView } from '../../renderers/DiffView'
import styles from './episodes.module.css'

const LONGEST = 200_000

/** What is the same and what is not at this step, and the differences line by line. */
export function FrameDifference({ a, b }: { a: Frame; b: Frame }) {
  const [open, setOpen] = useState(false)
  const before = useMemo(() => sceneText(a), [a])
  const after = useMemo(() => sceneText(b), [b])
  const sameScene = before === after
  const acted = a.actions.length > 0 || b.actions.length > 0
  const sameAction = JSON.stringify(a.actions) === JSON.stringify(b.actions)
  return (
    <section className={styles.compared} aria-label="Differences at this step">
      <p className={styles.facts}>
        {acted && <Verdict same={sameAction} what="action" />}
        <Verdict same={sameScene} what="observation" />
        {!sameScene && before !== null && after !== null && (
          <Button look="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Hide the difference' : 'Show the difference'}
          </Button>
        )}
      </p>
      {open && !sameScene && before !== null && after !== null && <DiffView before={before} after={after} />}
    </section>
  )
}

function Verdict({ same, what }: { same: boolean; what: string }) {
  return (
    <span className={styles.verdict} data-same={same}>
      <Icon name={same ? 'check' : 'compare'} size={13} />
      {same ? `same ${what}` : `different ${what}`}
    </span>
  )
}

/** The observation as text; null when it is too large to be compared here. */
function sceneText(frame: Frame): string | null {
  const scene = frame.after ?? frame.before
  if (!scene) return ''
  if (referenceOf(scene.data) || scene.type.startsWith('image/')) return JSON.stringify(scene.data).slice(0, 300)
  const text = textOf(scene.data)
  return text.length > LONGEST ? null : text
}
