import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Check } from '../form/Check'
import { Choice } from '../form/Choice'
import { Form } from '../form/Form'
import formStyles from '../form/form.module.css'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { EVENTS, type NotificationEvent } from './events'

/** Where a notification is added, and what happens then. */
interface NotificationFormProps {
  workspaceId: string
  onAdded: (made: Schema<'NotificationSecretDocument'>) => void
}

/** Add an address that is told how runs end. */
export function NotificationForm({ workspaceId, onAdded }: NotificationFormProps) {
  const [url, setUrl] = useState('')
  const [format, setFormat] = useState<Schema<'NotificationDocument'>['format']>('mesocosm')
  const [events, setEvents] = useState<readonly NotificationEvent[]>(EVENTS.map(({ value }) => value))
  const [tried, setTried] = useState(false)
  const add = useChange(
    () =>
      post('/api/workspaces/{workspace}/notifications', {
        params: { workspace: workspaceId },
        body: { url: url.trim(), format, events: [...events] },
      }),
    {
      silent: true,
      after: (made) => {
        setUrl('')
        setTried(false)
        onAdded(made)
      },
    },
  )
  const told = add.error instanceof ApiError ? add.error.fields.url : undefined
  const toggle = (event: NotificationEvent, wanted: boolean) =>
    setEvents(EVENTS.map(({ value }) => value).filter((one) => (one === event ? wanted : events.includes(one))))
  return (
    <Form
      label="Add a notification"
      onSubmit={() => {
        setTried(true)
        if (url.trim() !== '' && events.length > 0) add.mutate(undefined)
      }}
      error={told ? undefined : add.error}
      title="The notification could not be added"
      actions={
        <Button type="submit" busy={add.isPending}>
          Add notification
        </Button>
      }
    >
      <TextField
        label="URL"
        hint="https. Stored encrypted, and never shown again."
        placeholder="https://hooks.example.org/…"
        type="url"
        autoComplete="off"
        spellCheck={false}
        maxLength={2000}
        value={url}
        onChange={setUrl}
        problem={told ?? (tried && url.trim() === '' ? 'Enter a URL.' : undefined)}
      />
      <Choice
        label="Messages are"
        value={format}
        onChange={setFormat}
        options={[
          { value: 'mesocosm', label: 'signed JSON documents', hint: 'for programs: Standard Webhooks' },
          { value: 'slack', label: 'text for Slack', hint: 'also Mattermost, and Discord with /slack at the end' },
        ]}
      />
      <fieldset className={formStyles.group}>
        <legend>Tell when</legend>
        {EVENTS.map(({ value, label, hint }) => (
          <Check
            key={value}
            label={label}
            hint={hint}
            checked={events.includes(value)}
            onChange={(checked) => toggle(value, checked)}
          />
        ))}
        {tried && events.length === 0 && (
          <span className={formStyles.problem} role="alert">
            Choose at least one.
          </span>
        )}
      </fieldset>
    </Form>
  )
}
