/** A question to a model about every episode of a run. */

import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import { count, plural } from '../format'
import { ModelField } from '../launch/ModelField'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { Money } from '../parts/Money'
import { place } from '../place'
import { NO_SCAN, type ScanWords, scanInput } from './scan'

const ANSWERS = [
  { value: 'yes', label: 'yes or no' },
  { value: 'labels', label: 'one of these words' },
  { value: 'number', label: 'a number from 0 to 1' },
]
const EPISODES = [
  { value: '', label: 'all that are finished' },
  { value: 'wrong', label: 'not passed' },
  { value: 'passed', label: 'passed' },
  { value: 'failed', label: 'ended with an error' },
]

interface ScanDialogProps {
  run: Schema<'RunDetail'>
  onClose: () => void
}

export function ScanDialog({ run, onClose }: ScanDialogProps) {
  const [words, setWords] = useState<ScanWords>(NO_SCAN)
  const navigate = useNavigate()
  const params = { run_id: run.id }
  const body = scanInput(words)
  const foreseen = useMutation({ mutationFn: () => post('/api/runs/{run_id}/scans/forecast', { params, body }) })
  const set = (name: keyof ScanWords) => (value: string) => {
    foreseen.reset()
    setWords((now) => ({ ...now, [name]: value }))
  }
  const asked = useMutation({
    mutationFn: () => post('/api/runs/{run_id}/scans', { params, body }),
    onSuccess: (scan) => void navigate({ to: '/runs/$runId', params: { runId: scan.id } }),
  })
  const ready = body.question !== '' && body.model !== ''
  return (
    <Dialog open onClose={onClose} title="Ask a question of every episode">
      <Form
        label="Ask a question of every episode"
        onSubmit={() => ready && asked.mutate()}
        error={asked.error ?? foreseen.error}
        title="It was not asked"
        actions={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button busy={foreseen.isPending} disabled={!ready} onClick={() => foreseen.mutate()}>
              Estimate
            </Button>
            <Button type="submit" look="primary" busy={asked.isPending} disabled={!ready}>
              Ask
            </Button>
          </>
        }
      >
        <TextArea
          label="Question"
          hint="A model reads each transcript, answers, and quotes the step that shows it."
          value={words.question}
          onChange={set('question')}
          rows={3}
        />
        <Row>
          <SelectField label="Answer" options={ANSWERS} value={words.kind} onChange={set('kind')} />
          <SelectField label="Episodes" options={EPISODES} value={words.where} onChange={set('where')} />
        </Row>
        {words.kind === 'labels' && (
          <TextField
            label="Words"
            hint="Separated by commas."
            placeholder="misread, slip, wrong-plan"
            value={words.labels}
            onChange={set('labels')}
          />
        )}
        <Row>
          <ModelField
            hint={place.mode === 'server' ? 'One that this server offers.' : 'Its key comes from the environment.'}
            placeholder={run.model}
            value={words.model}
            onChange={set('model')}
          />
          <TextField label="Name of its scores" optional value={words.name} onChange={set('name')} />
        </Row>
        <Row>
          <TextField
            label="Random sample of"
            optional
            inputMode="numeric"
            value={words.limit}
            onChange={set('limit')}
          />
          <TextField label="Stop at USD" optional inputMode="decimal" value={words.budget} onChange={set('budget')} />
        </Row>
        <p aria-live="polite" className="muted">
          {foreseen.data && <Foreseen found={foreseen.data} />}
        </p>
      </Form>
    </Dialog>
  )
}

function Foreseen({ found }: { found: Schema<'ScanForecast'> }) {
  return (
    <>
      {plural(found.episodes, 'episode')}, about {count(found.prompt_tokens)} tokens to read and{' '}
      {count(found.completion_tokens)} to write:{' '}
      {found.usd === null ? 'the price of this model is not known' : <Money usd={found.usd} />}
      {found.budget_usd !== null && found.usd !== null && found.usd > found.budget_usd && (
        <>
          {' '}
          · it will stop before, at <Money usd={found.budget_usd} />
        </>
      )}
      {found.warnings.map((warning) => (
        <span key={warning}> · {warning}</span>
      ))}
    </>
  )
}
