import { memo } from 'react'
import { pieces } from './marks'
import styles from './text.module.css'

/** Foreign text with every hidden character shown, and what was searched for marked. */
export const Marked = memo(function Marked({ text, highlight = '' }: { text: string; highlight?: string }) {
  return pieces(text).map((piece, index) =>
    piece.mark ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other identity
      <span key={index} className={styles.sign} data-tip={piece.mark}>
        {piece.text}
      </span>
    ) : (
      found(piece.text, highlight, index)
    ),
  )
})

function found(text: string, highlight: string, place: number) {
  if (!highlight) return text
  const wanted = highlight.toLowerCase()
  const lower = text.toLowerCase()
  // Lower case may be longer than what it came from; then places do not match and nothing is marked.
  if (!lower.includes(wanted) || lower.length !== text.length) return text
  const parts = []
  let from = 0
  for (let at = lower.indexOf(wanted); at >= 0 && parts.length < 1_000; at = lower.indexOf(wanted, from)) {
    if (at > from) parts.push(text.slice(from, at))
    parts.push(
      <mark key={`${place}-${at}`} className={styles.found}>
        {text.slice(at, at + wanted.length)}
      </mark>,
    )
    from = at + wanted.length
  }
  parts.push(text.slice(from))
  return parts
}
