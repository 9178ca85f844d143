/** The messages that a sample ended with. */

import { useMemo, useState } from 'react'
import type { Schema } from '../../api/types'
import { plural } from '../../format'
import { Skeleton } from '../../parts/Skeleton'
import { TextButton } from '../../parts/TextButton'
import { ContentView } from '../../renderers/ContentView'
import { referenceOf } from '../../renderers/content'
import { JsonTree } from '../../renderers/JsonTree'
import { TalkView } from '../../renderers/TalkView'
import { goesOn } from '../goesOn'
import { conversationOf, messagesIn, promptIn, type Said } from './conversation'
import styles from './sample.module.css'
import { useOutcome } from './useOutcome'

/** Messages of a long conversation that are shown at first: its beginning and its end. */
const FIRST = 4
const LAST = 16

interface ConversationProps {
  episode: Schema<'EpisodeDetail'>
  /** Messages of a workflow that failed on its way. */
  partial: unknown[] | null
  highlight: string
}

export function Conversation({ episode, partial, highlight }: ConversationProps) {
  const outcome = useOutcome(episode)
  const messages = partial ?? messagesIn(outcome)
  const said = useMemo(() => (messages === null ? null : conversationOf(messages)), [messages])
  if (outcome === undefined) return <Skeleton height="12rem" />
  if (said !== null && said.length > 0) return <Messages said={said} highlight={highlight} />
  if (outcome !== null && referenceOf(outcome) !== null)
    return <ContentView data={outcome} type="application/json" highlight={highlight} />
  const asked = promptIn(outcome)
  return (
    <div className={styles.talks}>
      {asked !== null && <Messages said={conversationOf(asked)} highlight={highlight} />}
      <p className="muted">{withoutWords(episode, said !== null)}</p>
    </div>
  )
}

function withoutWords(episode: Schema<'EpisodeDetail'>, ended: boolean): string {
  if (goesOn(episode)) return 'The sample is in progress. Its messages appear when the workflow ends.'
  if (ended) return 'The workflow returned no messages. The timeline shows its model calls.'
  return 'The workflow ended here. The timeline shows its model calls.'
}

function Messages({ said, highlight }: { said: readonly Said[]; highlight: string }) {
  const [all, setAll] = useState(false)
  const hidden = all || highlight !== '' ? 0 : Math.max(said.length - FIRST - LAST, 0)
  const draw = (one: Said, index: number) => <Message key={index} said={one} highlight={highlight} />
  if (hidden === 0) return <div className={styles.talks}>{said.map(draw)}</div>
  return (
    <div className={styles.talks}>
      {said.slice(0, FIRST).map(draw)}
      <TextButton onClick={() => setAll(true)}>Show {plural(hidden, 'message')} between</TextButton>
      {said.slice(FIRST + hidden).map((one, index) => draw(one, FIRST + hidden + index))}
    </div>
  )
}

function Message({ said, highlight }: { said: Said; highlight: string }) {
  if (said.kind === 'talk') return <TalkView talk={said.talk} highlight={highlight} open />
  return (
    <div className={styles.unread}>
      <JsonTree value={said.value} highlight={highlight} label="Message in an unknown format" />
    </div>
  )
}
