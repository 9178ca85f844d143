import { type KeyboardEvent, useId, useRef } from 'react'
import type { Schema } from '../api/types'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { Key } from '../parts/Key'
import { Panel } from '../parts/Panel'
import { type Draft, isRequired, keysOf, missing, toggled } from './draft'
import { Option } from './Option'
import styles from './reviews.module.css'
import { ANSWERS } from './words'

interface VerdictFormProps {
  round: Schema<'RoundDocument'>
  draft: Draft
  onChange: (draft: Draft) => void
  onSave: () => void
  busy: boolean
  /** What the button says. */
  save: string
  /** One line below the button. */
  hint: string
}

/** What one says of an answer: verdict, labels, step, note; every choice has a key. */
export function VerdictForm({ round, draft, onChange, onSave, busy, save, hint }: VerdictFormProps) {
  const id = useId()
  const step = useRef<HTMLInputElement>(null)
  const note = useRef<HTMLTextAreaElement>(null)
  const lacking = missing(draft, round.labels)
  const saveNow = () => lacking === undefined && !busy && onSave()
  useShortcut('Enter', save, saveNow, { group: 'Review' })
  useShortcut('.', 'Step it rests on', () => step.current?.focus(), { group: 'Review' })
  useShortcut('m', 'Note', () => note.current?.focus(), { group: 'Review' })
  const leaveField = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
    const single = event.currentTarget === step.current
    if (event.key === 'Enter' && (single || event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      saveNow()
    }
  }
  return (
    <div className={styles.form}>
      {ANSWERS.map((answer) => (
        <OptionKey
          key={answer.value}
          keys={answer.key}
          label={answer.title}
          onPress={() => onChange({ ...draft, answer: answer.value })}
        />
      ))}
      {keysOf(round.labels).map(({ key, name, value }) => (
        <OptionKey key={key} keys={key} label={String(value)} onPress={() => onChange(toggled(draft, name, value))} />
      ))}
      <Panel title="Is the answer right?" note="required">
        <fieldset className={styles.options}>
          <legend className="hidden-text">Is the answer right?</legend>
          {ANSWERS.map((answer) => (
            <Option
              key={answer.value}
              type="radio"
              name={`${id}-answer`}
              title={answer.title}
              keys={answer.key}
              checked={draft.answer === answer.value}
              onChange={() => onChange({ ...draft, answer: answer.value })}
            />
          ))}
        </fieldset>
      </Panel>
      <Panel
        title={round.labels.length === 1 ? round.labels[0]?.title || round.labels[0]?.name : 'Labels'}
        note={round.labels.length === 1 ? requiredWords(round.labels[0]) : undefined}
      >
        <div className={styles.fields}>
          {round.labels.map((label) => (
            <LabelField
              key={label.name}
              label={label}
              alone={round.labels.length === 1}
              needed={isRequired(label, draft.answer)}
              value={draft.labels[label.name]}
              onChange={(value) => onChange(toggled(draft, label.name, value))}
              onClear={() => {
                const { [label.name]: _, ...labels } = draft.labels
                onChange({ ...draft, labels })
              }}
            />
          ))}
          <label className={styles.labelled}>
            <span className={styles.name}>
              Step it rests on <Key keys="." />
            </span>
            <input
              ref={step}
              className={styles.text}
              value={draft.step}
              maxLength={10_000}
              placeholder="A line or a step; double-click one at the left"
              onKeyDown={leaveField}
              onChange={(event) => onChange({ ...draft, step: event.target.value })}
            />
          </label>
          <label className={styles.labelled}>
            <span className={styles.name}>
              Note <Key keys="m" />
            </span>
            <textarea
              ref={note}
              className={styles.text}
              rows={2}
              value={draft.note}
              maxLength={10_000}
              placeholder="Optional"
              onKeyDown={leaveField}
              onChange={(event) => onChange({ ...draft, note: event.target.value })}
            />
          </label>
        </div>
      </Panel>
      <Button look="primary" className={styles.save} busy={busy} disabled={lacking !== undefined} onClick={onSave}>
        {save} <Key keys="Enter" />
      </Button>
      <p className={styles.hint}>{lacking ?? hint}</p>
    </div>
  )
}

function requiredWords(label: Schema<'ReviewLabel'> | undefined): string | undefined {
  return { always: 'required', wrong: 'required when wrong', never: undefined }[label?.required ?? 'never']
}

/** A key that does what pressing an option does. */
function OptionKey({ keys, label, onPress }: { keys: string; label: string; onPress: () => void }) {
  useShortcut(keys, label, onPress, { group: 'Review' })
  return null
}

interface LabelFieldProps {
  label: Schema<'ReviewLabel'>
  alone: boolean
  needed: boolean
  value: boolean | number | string | undefined
  onChange: (value: boolean | number | string) => void
  onClear: () => void
}

/** One label: its options, a box, or a number. */
function LabelField({ label, alone, needed, value, onChange, onClear }: LabelFieldProps) {
  const title = label.title || label.name
  if (label.kind === 'choice')
    return (
      <fieldset className={styles.choices}>
        <legend className={alone ? 'hidden-text' : styles.name}>
          {title}
          {needed && ' (required)'}
        </legend>
        {(label.options ?? []).map((option) => (
          <Option
            key={option.value}
            type="checkbox"
            title={option.title || option.value}
            keys={option.key ?? ''}
            checked={value === option.value}
            onChange={() => onChange(option.value)}
          />
        ))}
      </fieldset>
    )
  if (label.kind === 'flag')
    return (
      <Option
        type="checkbox"
        title={title}
        keys={label.key ?? ''}
        checked={value === true}
        onChange={() => onChange(true)}
      />
    )
  return (
    <label className={styles.labelled}>
      <span className={styles.name}>
        {title}
        {needed && ' (required)'}
      </span>
      <input
        type="number"
        className={styles.text}
        min={label.low ?? undefined}
        max={label.high ?? undefined}
        step="any"
        value={typeof value === 'number' ? value : ''}
        onChange={(event) => (event.target.value === '' ? onClear() : onChange(event.target.valueAsNumber))}
      />
    </label>
  )
}
