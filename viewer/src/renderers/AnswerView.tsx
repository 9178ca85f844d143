import { TextView } from './TextView'
import { ToolCallView } from './ToolCallView'
import type { Answer } from './turn'
import styles from './turn.module.css'

/** What an agent answered: its words, and the tools that it wants called. */
export function AnswerView({ answer, highlight }: { answer: Answer; highlight?: string }) {
  const { text, calls } = answer
  return (
    <div className={styles.turn}>
      {text !== '' && <TextView text={text} highlight={highlight} />}
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call may lack an id
        <ToolCallView key={index} call={call} highlight={highlight} />
      ))}
      {text === '' && calls.length === 0 && <p className="muted">empty reply</p>}
    </div>
  )
}
