import { useState } from 'react'
import { plural } from '../format'
import { TextButton } from '../parts/TextButton'
import { TalkView } from './TalkView'
import type { Talk } from './talk'
import styles from './talk.module.css'

const SHOWN = 20

interface ChatViewProps {
  talks: Talk[]
  highlight?: string
  open?: boolean
}

/** A conversation; of a long one the last messages, the earlier ones when asked. */
export function ChatView({ talks, highlight, open }: ChatViewProps) {
  const [shown, setShown] = useState(SHOWN)
  const first = Math.max(talks.length - shown, 0)
  return (
    <div className={styles.list}>
      {first > 0 && (
        <TextButton onClick={() => setShown(shown * 3)}>
          Show {plural(Math.min(first, shown * 2), 'earlier message')} of {talks.length}
        </TextButton>
      )}
      {talks.slice(first).map((talk, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a message is its place
        <TalkView key={first + index} talk={talk} highlight={highlight} open={open} />
      ))}
    </div>
  )
}
