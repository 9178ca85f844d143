import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { documentQuery } from '../api/query'
import { count } from '../format'
import { Dialog } from '../parts/Dialog'
import { Failure } from '../parts/Failure'
import { Skeleton } from '../parts/Skeleton'
import { Tabs } from '../parts/Tabs'
import { ChatView } from '../renderers/ChatView'
import { ContentView } from '../renderers/ContentView'
import { JsonTree } from '../renderers/JsonTree'
import { talkOf } from '../renderers/talk'
import { AskAgain } from './AskAgain'
import { CallChange } from './CallChange'
import { SentBody } from './SentBody'

const TABS = ['request', 'body', 'change', 'reply', 'answer', 'raw', 'again'] as const
type Shown = (typeof TABS)[number]

interface CallDialogProps {
  episodeId: string
  seq: number | undefined
  onClose: () => void
}

/** The body of an answer, as JSON where it is. */
function answerOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A model call with everything that was sent and came back. */
export function CallDialog({ episodeId, seq, onClose }: CallDialogProps) {
  const [chosen, setShown] = useState<Shown>()
  const { data, error } = useQuery({
    ...documentQuery('/api/episodes/{episode_id}/calls/{seq}', { params: { episode_id: episodeId, seq: seq ?? 0 } }),
    enabled: seq !== undefined,
    gcTime: 10_000,
  })
  const shown = chosen ?? (data?.wire ? 'body' : 'request')
  const talks = (data?.messages ?? []).map(talkOf).filter((talk) => talk !== null)
  return (
    <Dialog
      open={seq !== undefined}
      onClose={onClose}
      title={data ? `Model call of step ${count(data.step)}` : 'Model call'}
      wide
    >
      {error && <Failure error={error} title="The call could not be loaded" />}
      {!data && !error && <Skeleton height="12rem" />}
      {data && (
        <Tabs
          label="Sections of the call"
          tabs={[
            { id: 'request', label: 'Messages', count: data.messages.length },
            ...(data.wire ? [{ id: 'body' as const, label: 'Body as sent' }] : []),
            ...(data.previous === null || data.previous === undefined
              ? []
              : [{ id: 'change' as const, label: 'Change to the previous call' }]),
            { id: 'reply', label: 'Reply' },
            ...(data.wire ? [{ id: 'answer' as const, label: 'Answer as it came' }] : []),
            { id: 'raw', label: 'Record' },
            ...(data.again ? [{ id: 'again' as const, label: 'Ask again' }] : []),
          ]}
          selected={shown}
          onSelect={setShown}
        >
          {shown === 'request' && <ChatView talks={talks} />}
          {shown === 'body' && data.wire && <SentBody wire={data.wire} />}
          {shown === 'change' && typeof data.previous === 'number' && (
            <CallChange episodeId={episodeId} call={data} previous={data.previous} />
          )}
          {shown === 'answer' && data.wire && <ContentView data={answerOf(data.wire.answer)} type="" />}
          {shown === 'reply' &&
            (data.reply ? <ContentView data={[data.reply]} type="" /> : <p className="muted">There was no reply.</p>)}
          {shown === 'again' && <AskAgain key={data.seq} call={data} episodeId={episodeId} />}
          {shown === 'raw' && (
            <JsonTree value={{ messages: data.messages, reply: data.reply, ...data.payload }} label="Call" />
          )}
        </Tabs>
      )}
    </Dialog>
  )
}
