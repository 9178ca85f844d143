import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { useChange } from '../parts/useChange'
import { type Terms, termProblems, termsBody, USUAL } from './protocol'

const MALFORMED: { value: Terms['on_malformed']; label: string }[] = [
  { value: 'auto', label: 'as declared by the environment' },
  { value: 'pass', label: 'pass the reply on' },
  { value: 'ask', label: 'ask once more' },
  { value: 'fail', label: 'end the episode' },
]

/** A form that declares how official runs of a domain are played from now on. */
export function ProtocolDialog({ domain, open, onClose }: ProtocolDialogProps) {
  return (
    <Dialog open={open} title={`Official leaderboard of ${domain.name}`} onClose={onClose}>
      <Declare domain={domain} onClose={onClose} />
    </Dialog>
  )
}

interface ProtocolDialogProps {
  domain: Schema<'Domain'>
  open: boolean
  onClose: () => void
}

function Declare({ domain, onClose }: Omit<ProtocolDialogProps, 'open'>) {
  const [terms, setTerms] = useState<Terms>(USUAL)
  const declare = useChange(
    () => post('/api/domains/{domain_id}/protocols', { params: { domain_id: domain.id }, body: termsBody(terms) }),
    { silent: true, done: 'Protocol declared. Official runs can be started now.', after: onClose },
  )
  const told = declare.error instanceof ApiError ? declare.error.fields : {}
  const own = termProblems(terms)
  const field = (name: Exclude<keyof Terms, 'on_malformed'>) => ({
    inputMode: 'decimal' as const,
    value: terms[name],
    onChange: (value: string) => setTerms((before) => ({ ...before, [name]: value })),
    problem: own[name] ?? told[name],
  })
  return (
    <Form
      label="Protocol"
      onSubmit={() => {
        if (Object.keys(own).length === 0) declare.mutate(undefined)
      }}
      error={Object.keys(told).length > 0 ? undefined : declare.error}
      title="The protocol could not be declared"
      actions={
        <Button type="submit" look="primary" busy={declare.isPending}>
          Declare
        </Button>
      }
    >
      <p className="muted">
        Official runs follow this protocol, with seeds that the server draws for each run. A protocol never changes:
        different terms make a new version with its own leaderboard.
      </p>
      <Row>
        <TextField label="Seeds per run" {...field('episodes')} />
        <TextField label="Trials per seed" {...field('trials')} />
      </Row>
      <Row>
        <TextField label="Maximum steps" optional placeholder="the server's limit" {...field('max_steps')} />
        <TextField label="Maximum tokens per reply" {...field('max_tokens')} />
        <TextField label="Temperature" {...field('temperature')} />
      </Row>
      <SelectField
        label="Invalid replies"
        value={terms.on_malformed}
        onChange={(on_malformed) => setTerms((before) => ({ ...before, on_malformed: malformed(on_malformed) }))}
        options={MALFORMED}
      />
    </Form>
  )
}

function malformed(value: string): Terms['on_malformed'] {
  return MALFORMED.find((one) => one.value === value)?.value ?? 'auto'
}
