import { useMemo, useState } from 'react'
import { bytes, count } from '../format'
import { TextButton } from '../parts/TextButton'
import { AnsiText } from './AnsiText'
import { coloursOfWords, hasColours } from './ansi'
import { blocksOf } from './grid'
import { LongText } from './LongText'
import { countLines, head, tail } from './lines'
import { Marked } from './Marked'
import styles from './text.module.css'

interface TextViewProps {
  text: string
  /** Fixed-width letters without wrapping, for maps and code. */
  mono?: boolean
  highlight?: string
  /** Show all of it at once, as far as it fits. */
  open?: boolean
  /** Lines that are shown before it is folded. */
  lines?: number
  /** What to show of folded text: its beginning, or its end for what a program wrote last. */
  keep?: 'head' | 'tail'
}

const SHOWN_IN_FLOW = 20_000

/** Text as it was written: folded when long, in a window of its own when very long. */
export function TextView({
  text: written,
  mono = false,
  highlight = '',
  open = false,
  lines = 16,
  keep = 'head',
}: TextViewProps) {
  const [unfolded, setUnfolded] = useState(open)
  const [colours, setColours] = useState(true)
  const drawing = useMemo(() => coloursOfWords(written), [written])
  const text = colours ? drawing : written
  const inColour = useMemo(() => hasColours(drawing), [drawing])
  const part = useMemo(() => (keep === 'head' ? head : tail)(text, lines, 100 * lines), [text, lines, keep])
  const long = part.length < text.trimEnd().length
  const total = useMemo(() => (long ? countLines(text) : 0), [long, text])
  const shown = unfolded || !long ? text : part
  const drawn = useMemo(() => mono || drawing !== written || blocksOf(written) !== null, [mono, drawing, written])
  const className = drawn ? `${styles.text} ${styles.mono}` : styles.text
  if (text === '') return <p className={styles.empty}>empty text</p>
  return (
    <div className={styles.box}>
      {shown.length > SHOWN_IN_FLOW ? (
        <LongText text={shown} highlight={highlight} />
      ) : (
        <pre className={className} dir={drawn ? 'ltr' : 'auto'}>
          {inColour && colours ? (
            <AnsiText text={shown} highlight={highlight} />
          ) : (
            <Marked text={shown} highlight={highlight} />
          )}
        </pre>
      )}
      {(long || inColour) && (
        <div className={styles.tools}>
          {long && (
            <TextButton onClick={() => setUnfolded(!unfolded)} aria-expanded={unfolded}>
              {unfolded ? 'Show less' : `Show all ${total > 1 ? `${count(total)} lines, ` : ''}${bytes(text.length)}`}
            </TextButton>
          )}
          {inColour && (
            <TextButton onClick={() => setColours(!colours)} aria-pressed={colours}>
              {colours ? 'Show colour codes' : 'Show colours'}
            </TextButton>
          )}
        </div>
      )}
    </div>
  )
}
