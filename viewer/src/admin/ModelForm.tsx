import { useState } from 'react'
import { put } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Check } from '../form/Check'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { draftInput, draftOf, draftProblems, type ModelDraft } from './modelInput'

interface ModelFormProps {
  /** The model that is changed; undefined for a new one. */
  model: Schema<'ManagedModelDocument'> | undefined
  onClose: () => void
}

/** The form of a model. Its key can be set, never read. */
export function ModelForm({ model, onClose }: ModelFormProps) {
  const [draft, setDraft] = useState<ModelDraft>(() => draftOf(model))
  const [tried, setTried] = useState(false)
  const save = useChange(
    () => put('/api/admin/models/{name}', { params: { name: draft.name.trim() }, body: draftInput(draft) }),
    { silent: true, done: `${draft.name.trim()} is saved.`, after: onClose },
  )
  const own = draftProblems(draft)
  const told = save.error instanceof ApiError ? save.error.fields : {}
  const problems = tried ? own : {}
  const set = (change: Partial<ModelDraft>) => setDraft((before) => ({ ...before, ...change }))
  const moved = model?.key === 'stored' && draft.served.trim() !== model.served_as
  return (
    <Form
      label={model ? `Change ${model.name}` : 'Add a model'}
      onSubmit={() => {
        setTried(true)
        if (Object.keys(own).length === 0) save.mutate(undefined)
      }}
      error={save.error}
      title="The model could not be saved"
      actions={
        <>
          <Button type="submit" look="primary" busy={save.isPending}>
            Save
          </Button>
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
        </>
      }
    >
      <Row>
        <TextField
          label="Name"
          hint="What people ask for. A * at its end stands for any text."
          spellCheck={false}
          autoComplete="off"
          disabled={model !== undefined}
          value={draft.name}
          onChange={(name) => set({ name })}
          problem={problems.name ?? told.name}
        />
        <TextField label="Title" optional value={draft.title} onChange={(title) => set({ title })} />
      </Row>
      <TextField
        label="Served as"
        optional
        hint="Another model, or one at an address: openai/llama-3.1-8b@http://10.0.0.7:8000/v1. Empty: the model of this name at its provider."
        spellCheck={false}
        autoComplete="off"
        value={draft.served}
        onChange={(served) => set({ served })}
        problem={told.served_as}
      />
      <TextField
        label="API key"
        optional
        type="password"
        autoComplete="new-password"
        hint={keyHint(model, moved)}
        value={draft.key}
        onChange={(key) => set({ key })}
        problem={told.key}
      />
      {model?.key === 'stored' && (
        <Check label="Delete the stored key" checked={draft.forget} onChange={(forget) => set({ forget })} />
      )}
      <Row>
        <TextField
          label="Price of prompts"
          optional
          hint="USD per million tokens."
          inputMode="decimal"
          value={draft.input}
          onChange={(input) => set({ input })}
          problem={problems.input}
        />
        <TextField
          label="Price of replies"
          optional
          hint={model?.price && !model.own_price ? 'Empty: as in the table of prices.' : 'Empty: unknown.'}
          inputMode="decimal"
          value={draft.output}
          onChange={(output) => set({ output })}
          problem={problems.output}
        />
        <TextField
          label="Episodes at once"
          optional
          hint="Of one run."
          inputMode="numeric"
          placeholder="no limit"
          value={draft.parallel}
          onChange={(parallel) => set({ parallel })}
          problem={problems.parallel}
        />
      </Row>
      <TextField
        label="Workspaces"
        optional
        hint="The only workspaces whose runs may use it, separated by commas."
        placeholder="all, and runs outside of one"
        spellCheck={false}
        value={draft.workspaces}
        onChange={(workspaces) => set({ workspaces })}
        problem={told.workspaces}
      />
      <Check label="Guests may use it" checked={draft.guests} onChange={(guests) => set({ guests })} />
      <Check label="Batch runs include it" checked={draft.batch} onChange={(batch) => set({ batch })} />
      <Check
        label="Disabled"
        hint="Nobody can start runs with it."
        checked={draft.disabled}
        onChange={(disabled) => set({ disabled })}
      />
    </Form>
  )
}

function keyHint(model: Schema<'ManagedModelDocument'> | undefined, moved: boolean): string {
  if (moved) return 'The stored key belongs to the former address: enter the key of the new one.'
  if (model?.key === 'stored') return 'One is stored, encrypted; it is never shown. Empty: keep it.'
  return 'Stored encrypted, and never shown. Empty: that of its provider, if the workers have it.'
}
