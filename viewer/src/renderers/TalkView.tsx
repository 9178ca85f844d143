import { ContentView } from './ContentView'
import { Marked } from './Marked'
import { PictureView } from './PictureView'
import { Prose } from './Prose'
import { TextView } from './TextView'
import { ToolCallView } from './ToolCallView'
import type { Part, Talk } from './talk'
import styles from './talk.module.css'

interface TalkViewProps {
  talk: Talk
  highlight?: string
  /** Show long text at once. */
  open?: boolean
}

/** One message of a conversation. */
export function TalkView({ talk, highlight, open }: TalkViewProps) {
  return (
    <article className={styles.talk} data-role={talk.role} aria-label={`Message of ${talk.role}`}>
      <p className={styles.role}>
        <Marked text={talk.name ? `${talk.role} · ${talk.name}` : talk.role} />
        {talk.answers && <span className={styles.answers}> answers {talk.answers}</span>}
      </p>
      {talk.reasoning && (
        <div className={styles.reasoning}>
          <TextView text={talk.reasoning} highlight={highlight} open={open} lines={6} />
        </div>
      )}
      {talk.parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
        <div key={index}>{partView(part, highlight, open)}</div>
      ))}
      {talk.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call may lack an id
        <ToolCallView key={index} call={call} highlight={highlight} />
      ))}
      {!talk.parts.length && !talk.calls.length && !talk.reasoning && <p className={styles.empty}>no content</p>}
    </article>
  )
}

function partView(part: Part, highlight?: string, open?: boolean) {
  if (part.kind === 'image') return <ContentView data={part.image} type={part.type ?? 'image/png'} />
  if (part.kind === 'other') return <ContentView data={part.value} type="" highlight={highlight} />
  const text = part.text ?? ''
  if (text.startsWith('data:image/')) return <PictureView data={text} type="" />
  if (open) return <Prose text={text} highlight={highlight} open lines={10} />
  return <TextView text={text} highlight={highlight} open={open} lines={10} />
}
