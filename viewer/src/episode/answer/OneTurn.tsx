/** A task with one turn as the conversation that it is: what was asked, and what came back. */

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { documentQuery } from '../../api/query'
import type { Schema } from '../../api/types'
import { count } from '../../format'
import { Button } from '../../parts/Button'
import { Failure } from '../../parts/Failure'
import { Panel } from '../../parts/Panel'
import { Skeleton } from '../../parts/Skeleton'
import { ContentView } from '../../renderers/ContentView'
import { Marked } from '../../renderers/Marked'
import { Prose } from '../../renderers/Prose'
import { TextView } from '../../renderers/TextView'
import { ToolCallView } from '../../renderers/ToolCallView'
import { isObject, saidIn, type Talk, talkOf } from '../../renderers/talk'
import { readEvents } from '../readEvents'
import styles from './answer.module.css'
import { withoutMarks } from './calculations'
import { questionText } from './texts'

/** Events before the end among which the last call of a model is. */
const NEAR_END = 60

const NAMES: Record<string, string> = { user: 'User', assistant: 'Assistant', system: 'System', tool: 'Tool' }

interface OneTurnProps {
  episode: Schema<'EpisodeDetail'>
  highlight?: string
  onCall: (seq: number) => void
}

export function OneTurn({ episode, highlight = '', onCall }: OneTurnProps) {
  const { seq, call, error, waiting } = useLastCall(episode)
  const talks = useMemo(() => talksOf(call), [call])
  return (
    <Panel
      title="Conversation"
      note={call === undefined ? undefined : noteOf(talks)}
      actions={
        seq !== undefined && (
          <Button icon="file" onClick={() => onCall(seq)}>
            Request as sent
          </Button>
        )
      }
      flush
    >
      {error !== null && <Failure error={error} title="The conversation could not be loaded" />}
      {waiting && <Skeleton height="10rem" />}
      {!waiting && error === null && talks.length === 0 && (
        <p className={styles.none}>No call of a model is recorded. The timeline shows what is.</p>
      )}
      {talks.map((talk, index) => (
        <Said
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
          key={index}
          talk={talk}
          episode={episode}
          highlight={highlight}
          usage={usageOf(call, talk, index, talks.length)}
        />
      ))}
    </Panel>
  )
}

/** The last call of the agent's model: with a repaired reply it holds the earlier ones too. */
function useLastCall(episode: Schema<'EpisodeDetail'>) {
  const wanted = { from: Math.max(episode.events - NEAR_END, 0), limit: NEAR_END, kind: ['model_call' as const] }
  const found = useQuery({
    queryKey: ['/api/episodes/{episode_id}/events', { episode_id: episode.id }, wanted],
    queryFn: ({ signal }) => readEvents(episode.id, wanted, signal),
  })
  const own = found.data?.items.filter(({ payload }) => !isObject(payload) || payload.role === undefined)
  const seq = own?.at(-1)?.seq
  const call = useQuery({
    ...documentQuery('/api/episodes/{episode_id}/calls/{seq}', { params: { episode_id: episode.id, seq: seq ?? 0 } }),
    enabled: seq !== undefined,
  })
  const error = found.error ?? call.error
  const waiting = error === null && (found.data === undefined || (seq !== undefined && call.data === undefined))
  return { seq, call: call.data, error, waiting }
}

function talksOf(call: Schema<'CallDocument'> | undefined): Talk[] {
  if (call === undefined) return []
  const reply = call.reply === null ? [] : [{ role: 'assistant', ...call.reply }]
  return [...call.messages, ...reply].map(talkOf).filter((talk) => talk !== null)
}

function noteOf(talks: readonly Talk[]): string {
  const turns = talks.filter(({ role }) => role === 'assistant').length
  const calls = talks.reduce((sum, talk) => sum + talk.calls.length, 0)
  return `${count(turns)} ${turns === 1 ? 'turn' : 'turns'}, ${calls === 0 ? 'no tools' : `${count(calls)} tool calls`}`
}

function usageOf(call: Schema<'CallDocument'> | undefined, { role }: Talk, index: number, all: number): number | null {
  const usage = call?.payload.usage
  if (!isObject(usage) || index < all - 2) return null
  const part = role === 'assistant' && index === all - 1 ? usage.completion : index === all - 2 ? usage.prompt : null
  return typeof part === 'number' && part > 0 ? part : null
}

interface SaidProps {
  talk: Talk
  episode: Schema<'EpisodeDetail'>
  highlight: string
  usage: number | null
}

function Said({ talk, episode, highlight, usage }: SaidProps) {
  return (
    <article className={styles.said} aria-label={`Message of ${talk.role}`}>
      <header>
        <strong>{NAMES[talk.role] ?? talk.role}</strong>
        {usage !== null && <span className="muted">{count(usage)} tokens</span>}
      </header>
      <div>{contentOf(talk, episode, highlight)}</div>
    </article>
  )
}

/** What was said. The question stands on top of the page, so it is only referred to, unless sought words are in it. */
function contentOf(talk: Talk, episode: Schema<'EpisodeDetail'>, highlight: string): ReactNode {
  const plain =
    talk.parts.every(({ kind }) => kind === 'text') && talk.calls.length === 0 && talk.reasoning === undefined
  const text = saidIn(talk)
  const question = questionText(episode.input).trim()
  const sought = highlight !== '' && question.toLowerCase().includes(highlight.toLowerCase())
  if (plain && talk.role === 'user' && question !== '' && text.includes(question) && !sought) {
    const [before = '', after = ''] = [
      text.slice(0, text.indexOf(question)),
      text.slice(text.indexOf(question) + question.length),
    ]
    return (
      <p className={styles.words}>
        <Marked text={before} highlight={highlight} />
        <span className={styles.chip}>the question, as above</span>{' '}
        <Marked text={after.trimStart()} highlight={highlight} />
      </p>
    )
  }
  if (plain && talk.role === 'assistant' && text.includes('<<')) {
    return (
      <p className={styles.words}>
        <Marked text={withoutMarks(text)} highlight={highlight} />
      </p>
    )
  }
  const open = talk.role === 'user' || talk.role === 'assistant'
  return (
    <>
      {talk.reasoning !== undefined && (
        <div className={styles.reasoning}>
          <TextView text={talk.reasoning} lines={6} highlight={highlight} />
        </div>
      )}
      {talk.parts.map((part, index) =>
        part.kind === 'text' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
          <Prose key={index} text={part.text ?? ''} open={open} lines={6} highlight={highlight} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
          <ContentView key={index} data={part.kind === 'image' ? part.image : part.value} type={part.type ?? ''} />
        ),
      )}
      {talk.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call may lack an id
        <ToolCallView key={index} call={call} highlight={highlight} />
      ))}
    </>
  )
}
