import { useState } from 'react'
import { plural } from '../format'
import { TextButton } from '../parts/TextButton'
import { ChatView } from './ChatView'
import { JsonTree } from './JsonTree'
import { Marked } from './Marked'
import type { Offered, Turn } from './turn'
import styles from './turn.module.css'

/** What a benchmark says in a conversation: to whom, which messages, which tools it offers. */
export function TurnView({ turn, highlight }: { turn: Turn; highlight?: string }) {
  const { thread, talks, tools, schema } = turn
  return (
    <div className={styles.turn}>
      {thread !== '' && (
        <p className={styles.thread}>
          to <Marked text={thread} highlight={highlight} />
        </p>
      )}
      {talks.length > 0 ? <ChatView talks={talks} highlight={highlight} /> : <p className="muted">no new message</p>}
      {tools !== null && <Tools tools={tools} highlight={highlight} />}
      {schema !== null && (
        <details className={styles.schema}>
          <summary>Response schema</summary>
          <JsonTree value={schema} highlight={highlight} label="Response schema" />
        </details>
      )}
    </div>
  )
}

function Tools({ tools, highlight }: { tools: readonly Offered[]; highlight?: string }) {
  const [open, setOpen] = useState(false)
  if (tools.length === 0) return <p className="muted">No tools.</p>
  return (
    <div className={styles.tools}>
      <p>
        <span className="muted">{plural(tools.length, 'tool')}: </span>
        <code>
          <Marked text={tools.map(({ name }) => name).join(', ')} highlight={highlight} />
        </code>{' '}
        <TextButton onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? 'Hide descriptions' : 'Show descriptions'}
        </TextButton>
      </p>
      {open && (
        <dl className={styles.list}>
          {tools.map(({ name, description, parameters }) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>
                {description && <p>{description}</p>}
                <JsonTree value={parameters} label={`Parameters of ${name}`} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}
