import { useDocument } from '../api/query'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { plural } from '../format'
import { modelOptions, patternOf } from '../launch/models'
import { MultiSelect } from '../parts/MultiSelect'
import type { PartProps } from './EvaluateForm'

interface ModelFieldsProps extends PartProps {
  configured: string | undefined
  /** Further models, each with a run of its own. */
  others: readonly string[]
  onOthers: (models: string[]) => void
}

/** Which models, and how often each row. */
export function ModelFields({ draft, set, problems, configured, others, onOthers }: ModelFieldsProps) {
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
      <div>
        <MultiSelect
          label={others.length === 0 ? 'Further models' : `${plural(others.length, 'further model')}`}
          quiet
          options={models
            .filter(({ name, available }) => available && !name.endsWith('*') && name !== draft.model)
            .map(({ name }) => ({ value: name }))}
          selected={others}
          onChange={onOthers}
        />{' '}
        {others.length > 0 && <span className="muted">{others.join(', ')}: a run each, with all else the same</span>}
      </div>
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
