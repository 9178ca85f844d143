/** A text of one side; the words that the other side does not have are marked. */

import { useMemo, useState } from 'react'
import { plural } from '../../format'
import { TextButton } from '../../parts/TextButton'
import { wordDifference } from '../../renderers/diff'
import { Marked } from '../../renderers/Marked'
import styles from './episodes.module.css'
import type { Side } from './pair'

/** Longer texts are shown without marks: finding these takes too long. */
const MOST_COMPARED = 20_000
/** Texts that share less than this part are easier to read without marks. */
const SHARED = 0.2
const LINES = 12

interface DifferingProps {
  text: string
  other: string | undefined
  side: Side
  mono?: boolean
}

export function Differing({ text, other, side, mono = false }: DifferingProps) {
  const [all, setAll] = useState(false)
  const lines = text.split('\n').length + Math.floor(text.length / 160)
  const long = lines > LINES + 4
  const words = useMemo(() => wordsOf(text, other, side), [text, other, side])
  if (text === '') return <p className="muted">nothing</p>
  return (
    <div>
      <p className={styles.text} data-mono={mono || undefined} data-folded={(long && !all) || undefined} dir="auto">
        {words.map((word, index) =>
          word.changed && word.text.trim() !== '' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
            <span key={index} className={side === 'a' ? styles.onlyA : styles.onlyB}>
              <Marked text={word.text} />
            </span>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
            <Marked key={index} text={word.text} />
          ),
        )}
      </p>
      {long && (
        <TextButton aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Fold' : `Show all ${plural(text.split('\n').length, 'line')}`}
        </TextButton>
      )}
    </div>
  )
}

function wordsOf(text: string, other: string | undefined, side: Side) {
  if (other === undefined || text === other) return [{ text, changed: false }]
  if (text.length + other.length > MOST_COMPARED) return [{ text, changed: false }]
  const found = side === 'a' ? wordDifference(text, other).before : wordDifference(other, text).after
  const same = found.reduce((sum, word) => sum + (word.changed ? 0 : word.text.length), 0)
  if (text.length > 60 && same < SHARED * text.length) return [{ text, changed: false }]
  return found
}
