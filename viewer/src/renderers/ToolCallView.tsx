import { ContentView } from './ContentView'
import { JsonTree } from './JsonTree'
import { Marked } from './Marked'
import { brief } from './marks'
import { TextView } from './TextView'
import type { ToolUse } from './talk'
import styles from './talk.module.css'

/** The call of a tool: its name, what it was given, what came back. */
export function ToolCallView({ call, highlight }: { call: ToolUse; highlight?: string }) {
  const short = shortArguments(call.arguments)
  return (
    <div className={styles.call}>
      <p className={styles.callName}>
        <span className={styles.callSign} aria-hidden="true">
          ƒ
        </span>
        <Marked text={call.name} highlight={highlight} />
        {short !== null && (
          <span className={styles.callShort}>
            (<Marked text={short} highlight={highlight} />)
          </span>
        )}
      </p>
      {short === null &&
        (typeof call.arguments === 'string' ? (
          <TextView text={call.arguments} mono highlight={highlight} />
        ) : (
          <JsonTree value={call.arguments} highlight={highlight} label="Arguments" />
        ))}
      {call.result !== undefined && (
        <div className={styles.result}>
          <span className={styles.resultSign}>result</span>
          <ContentView data={call.result} type="" highlight={highlight} />
        </div>
      )}
    </div>
  )
}

/** Arguments that fit on a line; null when they need a tree. */
function shortArguments(value: unknown): string | null {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return null
  const fields = Object.entries(value)
  if (fields.some(([, inner]) => inner !== null && typeof inner === 'object')) return null
  const text = fields.map(([name, inner]) => `${name}: ${JSON.stringify(inner)}`).join(', ')
  return text.length <= 100 ? brief(text, 100) : null
}
