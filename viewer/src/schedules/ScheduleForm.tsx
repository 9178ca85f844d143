import { useId, useState } from 'react'
import { patch, post } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Choice } from '../form/Choice'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { faultsOf, fieldsOf, inputOf, type ScheduleFields } from './form'
import { NextTimes } from './NextTimes'
import { USUAL, zones } from './times'
import { useConfigurations } from './useConfigurations'

/** Where a schedule is made, or the one that is changed. */
interface ScheduleFormProps {
  workspaceId: string
  schedule?: Schema<'ScheduleDocument'>
  /** What a new one runs, where that is chosen already. */
  configuration?: string
  onClose: () => void
}

/** Make or change a schedule, with its next times while it is written. */
export function ScheduleForm({ workspaceId, schedule, configuration, onClose }: ScheduleFormProps) {
  const [fields, setFields] = useState(() => fieldsOf(schedule, configuration))
  const [tried, setTried] = useState(false)
  const id = useId()
  const configurations = useConfigurations(workspaceId, fields.branch.trim())
  const models = useDocument('/api/models')
  const save = useChange(
    () => {
      const body = inputOf(fields)
      const params = { workspace: workspaceId }
      return schedule
        ? patch('/api/workspaces/{workspace}/schedules/{schedule}', {
            params: { ...params, schedule: schedule.id },
            body,
          })
        : post('/api/workspaces/{workspace}/schedules', { params, body })
    },
    {
      silent: true,
      done: schedule ? `Changed ${fields.name.trim()}.` : `Added the schedule ${fields.name.trim()}.`,
      after: onClose,
    },
  )
  const faults = tried ? faultsOf(fields) : {}
  const set = (name: keyof ScheduleFields) => (value: string) => setFields((known) => ({ ...known, [name]: value }))
  return (
    <Form
      label={schedule ? `Change ${schedule.name}` : 'Add a schedule'}
      onSubmit={() => {
        setTried(true)
        if (Object.keys(faultsOf(fields)).length === 0) save.mutate(undefined)
      }}
      error={save.error}
      title={schedule ? 'The schedule could not be changed' : 'The schedule could not be added'}
      actions={
        <>
          <Button type="submit" look="primary" busy={save.isPending}>
            {schedule ? 'Save changes' : 'Add schedule'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <Row>
        <TextField
          label="Name"
          hint="Its runs are called by it and their time."
          placeholder="nightly"
          autoComplete="off"
          spellCheck={false}
          maxLength={60}
          value={fields.name}
          onChange={set('name')}
          problem={faults.name}
        />
        <TextField
          label="Configuration"
          hint="At the newest synced commit of the branch."
          placeholder="configs/eval/NAME.toml"
          list={`${id}-configurations`}
          autoComplete="off"
          spellCheck={false}
          value={fields.configuration}
          onChange={set('configuration')}
          problem={faults.configuration}
        />
      </Row>
      <Choice
        label="Runs"
        value={fields.trigger}
        onChange={set('trigger')}
        options={[
          { value: 'cron', label: 'at times' },
          { value: 'sync', label: 'after each sync with a new commit', hint: 'of the branch, at that commit' },
        ]}
      />
      {fields.trigger === 'cron' && (
        <>
          <Row>
            <TextField
              label="Times"
              hint="Minute, hour, day of month, month, day of week."
              list={`${id}-times`}
              autoComplete="off"
              spellCheck={false}
              maxLength={200}
              value={fields.cron}
              onChange={set('cron')}
            />
            <TextField
              label="Time zone"
              list={`${id}-zones`}
              autoComplete="off"
              spellCheck={false}
              maxLength={100}
              value={fields.timezone}
              onChange={set('timezone')}
            />
          </Row>
          <NextTimes workspaceId={workspaceId} cron={fields.cron} timezone={fields.timezone} />
        </>
      )}
      <Row>
        <TextField
          label="Branch"
          hint="By default the one that is followed."
          optional
          autoComplete="off"
          spellCheck={false}
          maxLength={250}
          value={fields.branch}
          onChange={set('branch')}
        />
        <TextField
          label="Rows"
          hint="The first so many."
          optional
          inputMode="numeric"
          autoComplete="off"
          value={fields.limit}
          onChange={set('limit')}
          problem={faults.limit}
        />
      </Row>
      <Row>
        <TextField
          label="Model"
          hint="In place of the configured one."
          optional
          list={`${id}-models`}
          autoComplete="off"
          spellCheck={false}
          maxLength={300}
          value={fields.model}
          onChange={set('model')}
        />
        <TextField
          label="Tags"
          hint="Separated by commas."
          optional
          autoComplete="off"
          value={fields.tags}
          onChange={set('tags')}
        />
      </Row>
      <datalist id={`${id}-configurations`}>
        {configurations.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <datalist id={`${id}-times`}>
        {USUAL.map(({ value, label }) => (
          <option key={value} value={value} label={label} />
        ))}
      </datalist>
      <datalist id={`${id}-zones`}>
        {zones().map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <datalist id={`${id}-models`}>
        {(models.data?.models ?? []).map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </Form>
  )
}
