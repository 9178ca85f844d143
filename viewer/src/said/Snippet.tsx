import { pieces } from '../renderers/marks'
import type { Hit } from './place'
import { PLACES } from './place'
import styles from './said.module.css'

/** Where something was said, and what around it, with what was found marked. */
export function Snippet({ hit, lead }: { hit: Hit; lead: number }) {
  return (
    <span className={styles.snippet}>
      <span className={styles.place}>{PLACES[hit.place].toLowerCase()}</span>
      <bdi>
        {cut(hit, lead).map(({ text, found, at }) =>
          found ? (
            <mark key={at} className={styles.found}>
              {visible(text)}
            </mark>
          ) : (
            visible(text)
          ),
        )}
      </bdi>
    </span>
  )
}

/** The end of a text, with at most so many letters. */
function tail(text: string, most: number): string {
  const letters = [...text]
  return letters.length <= most ? text : `…${letters.slice(-most).join('')}`
}

/** Hidden characters are shown, as in the trace; lines are joined. */
function visible(text: string): string {
  return pieces(text.replace(/\s*\n\s*/g, ' ⏎ '))
    .map((piece) => piece.text)
    .join('')
}

/** Cut the snippet at its marks, which count code points, with at most `lead` letters before the first. */
export function cut(
  { snippet, marks }: Pick<Hit, 'snippet' | 'marks'>,
  lead = 1_000,
): { text: string; found: boolean; at: number }[] {
  const letters = [...snippet]
  const parts = []
  let at = 0
  for (const [start, end] of marks) {
    const before = letters.slice(at, start).join('')
    parts.push({ text: at === 0 ? tail(before, lead) : before, found: false, at })
    parts.push({ text: letters.slice(start, end).join(''), found: true, at: start })
    at = end
  }
  parts.push({ text: letters.slice(at).join(''), found: false, at })
  return parts.filter(({ text }) => text !== '')
}
