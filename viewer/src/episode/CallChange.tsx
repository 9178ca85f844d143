/** A request against the one before it: what was added, left out and changed, and nothing of what stayed. */

import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Failure } from '../parts/Failure'
import { PlainTable } from '../parts/PlainTable'
import { Skeleton } from '../parts/Skeleton'
import { textOf } from '../renderers/content'
import { DiffView } from '../renderers/DiffView'
import { Marked } from '../renderers/Marked'
import { TalkView } from '../renderers/TalkView'
import { saidIn, talkOf } from '../renderers/talk'
import { changeWords, fieldChanges, type MessageChange, messageChanges } from './callChange'
import styles from './SentBody.module.css'

type Call = Schema<'CallDocument'>

interface CallChangeProps {
  episodeId: string
  call: Call
  previous: number
}

export function CallChange({ episodeId, call, previous }: CallChangeProps) {
  const { data, error } = useQuery({
    ...documentQuery('/api/episodes/{episode_id}/calls/{seq}', { params: { episode_id: episodeId, seq: previous } }),
    gcTime: 10_000,
  })
  if (error) return <Failure error={error} title="The previous call could not be loaded" />
  if (!data) return <Skeleton height="12rem" />
  const messages = messageChanges(data.messages, call.messages)
  const fields = fieldChanges(data, call)
  return (
    <div className={styles.body}>
      <p>{changeWords(messages, fields)}</p>
      {fields === null && <p className="muted">Parameters are not compared: a body is not recorded.</p>}
      {fields !== null && fields.length > 0 && (
        <PlainTable label="Parameters that changed">
          <thead>
            <tr>
              <th scope="col">Parameter</th>
              <th scope="col">Before</th>
              <th scope="col">Now</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ name, before, after }) => (
              <tr key={name}>
                <th scope="row">
                  <Marked text={name} />
                </th>
                <td>
                  <Value value={before} />
                </td>
                <td>
                  <Value value={after} />
                </td>
              </tr>
            ))}
          </tbody>
        </PlainTable>
      )}
      {messages.map((change, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a change is its place
        <Change key={index} change={change} />
      ))}
    </div>
  )
}

function Value({ value }: { value: unknown }) {
  if (value === undefined) return <span className="muted">not there</span>
  return (
    <code>
      <Marked text={JSON.stringify(value).slice(0, 400)} />
    </code>
  )
}

const TITLES = { added: 'Added', removed: 'Left out', changed: 'Changed' }

function Change({ change }: { change: MessageChange }) {
  if (change.kind === 'same') return <p className="muted">{plural(change.count, 'message')} the same</p>
  const talk = talkOf(change.message)
  return (
    <section className={styles.change} data-kind={change.kind}>
      <h3>{TITLES[change.kind]}</h3>
      {change.kind === 'changed' ? (
        <>
          <p className="muted">{String(change.message.role)}</p>
          <DiffView before={said(change.before)} after={said(change.message)} />
        </>
      ) : (
        talk && <TalkView talk={talk} />
      )}
    </section>
  )
}

function said(message: Call['messages'][number]): string {
  const talk = talkOf(message)
  return (talk === null ? '' : saidIn(talk)) || textOf(message)
}
