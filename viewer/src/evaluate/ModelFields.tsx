import { useDocument } from '../api/query'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { modelOptions, patternOf } from '../launch/models'
import type { PartProps } from './EvaluateForm'

/** Which model, and how often each row. */
export function ModelFields({ draft, set, problems, configured }: PartProps & { configured: string | undefined }) {
  const models = useDocument('/api/models').data?.models ?? []
  const pattern = patternOf(models, draft.model)
  const options = modelOptions(models, draft.model, false).filter(({ value }) => value !== '')
  return (
    <>
      <Row>
        <SelectField
          label="Model"
          value={pattern?.name ?? draft.model}
          onChange={(model) => set({ model })}
          options={[{ value: '', label: configured ? `as configured: ${configured}` : 'as configured' }, ...options]}
          problem={pattern ? undefined : problems.model}
        />
        <TextField
          label="Tries per row"
          optional
          inputMode="numeric"
          placeholder="as configured"
          value={draft.trials}
          onChange={(trials) => set({ trials })}
          problem={problems.trials}
        />
      </Row>
      {pattern && (
        <TextField
          label="Model name"
          hint={`The full name, in place of ${pattern.name}.`}
          spellCheck={false}
          value={draft.model}
          onChange={(model) => set({ model })}
          problem={problems.model}
        />
      )}
    </>
  )
}
