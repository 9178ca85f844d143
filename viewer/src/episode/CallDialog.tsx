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

const TABS = ['request', 'reply', 'raw'] as const
type Shown = (typeof TABS)[number]

interface CallDialogProps {
  episodeId: string
  seq: number | undefined
  onClose: () => void
}

/** A model call with everything that was sent and came back. */
export function CallDialog({ episodeId, seq, onClose }: CallDialogProps) {
  const [shown, setShown] = useState<Shown>('request')
  const { data, error } = useQuery({
    ...documentQuery('/api/episodes/{episode_id}/calls/{seq}', { params: { episode_id: episodeId, seq: seq ?? 0 } }),
    enabled: seq !== undefined,
    gcTime: 10_000,
  })
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
            { id: 'request', label: 'Request', count: data.messages.length },
            { id: 'reply', label: 'Reply' },
            { id: 'raw', label: 'Raw' },
          ]}
          selected={shown}
          onSelect={setShown}
        >
          {shown === 'request' && <ChatView talks={talks} />}
          {shown === 'reply' &&
            (data.reply ? <ContentView data={[data.reply]} type="" /> : <p className="muted">There was no reply.</p>)}
          {shown === 'raw' && (
            <JsonTree value={{ messages: data.messages, reply: data.reply, ...data.payload }} label="Call" />
          )}
        </Tabs>
      )}
    </Dialog>
  )
}
