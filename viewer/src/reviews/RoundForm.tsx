import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { useDocument } from '../api/query'
import { Check } from '../form/Check'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { MultiSelect } from '../parts/MultiSelect'
import { useChange } from '../parts/useChange'
import { listName } from '../runs/runName'
import styles from './reviews.module.css'
import { faultsOf, inputOf, newRound, type RoundFields } from './roundInput'
import { useReviewer } from './useReviewer'

/** A new round: of which runs, which episodes, how many reviews each, and what is asked. */
export function RoundForm({ runs, onClose }: { runs: readonly string[]; onClose: () => void }) {
  const navigate = useNavigate()
  const [reviewer] = useReviewer()
  const [fields, setFields] = useState<RoundFields>(newRound(runs))
  const [tried, setTried] = useState(false)
  const known = useDocument('/api/runs', { query: { limit: 100 } })
  const faults = tried ? faultsOf(fields) : {}
  const add = useChange(() => post('/api/reviews', { body: inputOf(fields, reviewer) }), {
    silent: true,
    after: (round) => void navigate({ to: '/reviews/$roundId', params: { roundId: round.id } }),
  })
  const set = (changed: Partial<RoundFields>) => setFields({ ...fields, ...changed })
  return (
    <Form
      label="New round"
      error={add.error}
      title="The round could not be created"
      onSubmit={() => {
        setTried(true)
        if (Object.keys(faultsOf(fields)).length === 0) add.mutate(undefined)
      }}
      actions={
        <>
          <Button type="submit" look="primary" busy={add.isPending}>
            Create
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <div>
        <MultiSelect
          label={fields.runs.length === 0 ? 'Choose runs' : 'Runs'}
          options={(known.data?.items ?? []).map((run) => ({
            value: run.id,
            label: `${run.benchmark_title || run.benchmark} · ${run.model} · ${listName(run)}`,
          }))}
          selected={fields.runs}
          onChange={(chosen) => set({ runs: chosen })}
        />
        {faults.runs && (
          <p className={styles.bad} role="alert">
            {faults.runs}
          </p>
        )}
      </div>
      <Row>
        <SelectField
          label="Episodes"
          value={fields.outcome}
          hint="Only a draw from all of them says something of the whole run."
          onChange={(outcome) => set({ outcome: outcome as RoundFields['outcome'] })}
          options={[
            { value: 'all', label: 'All' },
            { value: 'fail', label: 'Not passed' },
            { value: 'pass', label: 'Passed' },
          ]}
        />
        <TextField
          label="Drawn at random"
          hint="Empty for all."
          inputMode="numeric"
          value={fields.sample}
          problem={faults.sample}
          onChange={(sample) => set({ sample })}
        />
        <TextField
          label="Seed"
          inputMode="numeric"
          value={fields.seed}
          problem={faults.seed}
          onChange={(seed) => set({ seed })}
        />
      </Row>
      <Row>
        <SelectField
          label="Order"
          value={fields.order}
          onChange={(order) => set({ order: order as RoundFields['order'] })}
          options={[
            { value: 'drawn', label: 'As drawn' },
            { value: 'disputed', label: 'Disputed first' },
          ]}
        />
        <TextField
          label="Reviews for each episode"
          inputMode="numeric"
          value={fields.reviews}
          problem={faults.reviews}
          onChange={(reviews) => set({ reviews })}
        />
        <TextField label="Name" optional value={fields.name} maxLength={200} onChange={(name) => set({ name })} />
      </Row>
      <TextArea
        label="What went wrong first?"
        optional
        hint="One cause in each line; each gets a key. Empty for the usual ones."
        value={fields.labels}
        placeholder={'Misread the question\nWrong step\nLeft out a step'}
        onChange={(labels) => set({ labels })}
      />
      <TextArea
        label="Guide"
        optional
        hint="What the verdicts mean here, one in each line."
        value={fields.guide}
        placeholder={'right: the last number equals the expected one\nwrong: another number, or none'}
        onChange={(guide) => set({ guide })}
      />
      <Check
        label="Hide model, grader and other reviewers until one has judged"
        checked={fields.blind}
        onChange={(blind) => set({ blind })}
      />
    </Form>
  )
}
