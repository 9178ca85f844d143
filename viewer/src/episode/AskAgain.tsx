/** A model call that is asked again: as it was, of another model, or with another prompt. */

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { TextArea } from '../form/TextArea'
import { ModelField } from '../launch/ModelField'
import { Button } from '../parts/Button'
import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { Tokens } from '../parts/Tokens'
import { place } from '../place'
import { ContentView } from '../renderers/ContentView'
import { isObject } from '../renderers/talk'
import styles from './AskAgain.module.css'

/** The text of the last message of a role; undefined where it is no plain text, which is not edited here. */
function lastText(messages: Schema<'CallDocument'>['messages'], role: string): string | undefined {
  const content = messages.findLast((message) => message.role === role)?.content
  return typeof content === 'string' ? content : undefined
}

/** What is sent instead; null if it is as it was. */
function changed(now: string, before: string | undefined): string | null {
  return before === undefined || now === before ? null : now
}

function compared(answer: Schema<'AgainDocument'>, edited: boolean): string {
  if (answer.same_body) return 'The same body was sent.'
  if (edited) return 'Another prompt was sent.'
  return answer.same_body === null ? 'What was sent then is not recorded as a body.' : 'This model takes another body.'
}

export function AskAgain({ call, episodeId }: { call: Schema<'CallDocument'>; episodeId: string }) {
  const before = { system: lastText(call.messages, 'system'), prompt: lastText(call.messages, 'user') }
  const [model, setModel] = useState('')
  const [system, setSystem] = useState(before.system ?? '')
  const [prompt, setPrompt] = useState(before.prompt ?? '')
  const asked = {
    model: model.trim() || null,
    system: changed(system, before.system),
    prompt: changed(prompt, before.prompt),
  }
  const { mutate, data, variables, isPending, error } = useMutation({
    mutationFn: (body: typeof asked) =>
      post('/api/episodes/{episode_id}/calls/{seq}/again', {
        params: { episode_id: episodeId, seq: call.seq },
        body,
      }),
  })
  return (
    <div className={styles.again}>
      <Form
        label="Ask again"
        onSubmit={() => mutate(asked)}
        error={error}
        title="There is no new answer"
        actions={
          <Button type="submit" look="primary" busy={isPending}>
            Ask again
          </Button>
        }
      >
        <ModelField
          optional
          hint={`Empty: the run's. ${place.mode === 'server' ? 'The server has its key.' : 'Its key comes from the environment of mesocosm view.'}`}
          placeholder={call.model}
          value={model}
          onChange={setModel}
        />
        {before.system !== undefined && (
          <TextArea label="System message" value={system} onChange={setSystem} rows={4} />
        )}
        {before.prompt !== undefined && (
          <TextArea label="Last message of the user" value={prompt} onChange={setPrompt} rows={8} />
        )}
      </Form>
      {data && (
        <section aria-label="Both answers" aria-live="polite">
          <div className={styles.both}>
            <section aria-label="Then">
              <h3>
                Then <span className="muted">{call.model}</span>
              </h3>
              <ContentView data={call.reply ? [call.reply] : []} type="" />
            </section>
            <section aria-label="Now">
              <h3>
                Now <span className="muted">{data.model}</span>
              </h3>
              <ContentView data={[data.reply]} type="" />
            </section>
          </div>
          {data.notes.map((note) => (
            <p key={note} className={styles.note}>
              {note[0]?.toUpperCase() + note.slice(1)}.
            </p>
          ))}
          <p className={styles.facts}>
            <span>{compared(data, (variables?.system ?? variables?.prompt ?? null) !== null)}</span>
            <span data-tip="prompt and completion tokens">
              <Tokens value={data.usage.prompt} /> → <Tokens value={data.usage.completion} /> tokens, then{' '}
              <Tokens value={used(call, 'prompt')} /> → <Tokens value={used(call, 'completion')} />
            </span>
            <Money usd={data.usage.cost_usd} />
            <Duration seconds={data.latency_s} />
            <span>The new answer is stored nowhere, and no part of the run.</span>
          </p>
        </section>
      )}
    </div>
  )
}

/** A number of the usage that was recorded with a call. */
function used(call: Schema<'CallDocument'>, name: 'prompt' | 'completion'): number {
  const usage = call.payload.usage
  const value = isObject(usage) ? usage[name] : 0
  return typeof value === 'number' ? value : 0
}
