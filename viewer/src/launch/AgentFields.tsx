import type { Doc } from '../api/platform'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import type { PartProps } from './LaunchForm'
import { modelOptions, patternOf } from './models'
import { TechniqueFields } from './TechniqueFields'

/** Who plays. */
export function AgentFields({
  order,
  set,
  problems,
  models,
  guest,
}: PartProps & { models: readonly Doc<'OfferedModel'>[]; guest: boolean }) {
  const pattern = patternOf(models, order.model)
  return (
    <>
      <SelectField
        label="Model"
        hint="Those that cannot be run now say why."
        value={pattern?.name ?? order.model}
        onChange={(model) => set({ model })}
        options={modelOptions(models, order.model, guest)}
        problem={pattern ? undefined : problems.model}
      />
      {pattern && (
        <TextField
          label="Name of the model"
          hint={`In full, in place of ${pattern.name}.`}
          spellCheck={false}
          value={order.model}
          onChange={(model) => set({ model })}
          problem={problems.model}
        />
      )}
      {!order.official && (
        <Row>
          <TextField
            label="Temperature"
            inputMode="decimal"
            hint="0: the most likely answer."
            value={order.temperature}
            onChange={(temperature) => set({ temperature })}
            problem={problems.temperature}
          />
          <TextField
            label="Tokens of an answer"
            inputMode="numeric"
            hint="At most; too few cut actions off."
            value={order.maxTokens}
            onChange={(maxTokens) => set({ maxTokens })}
            problem={problems.maxTokens}
          />
        </Row>
      )}
      <TextArea
        label="System prompt"
        optional
        hint="Told to the model beside the environment's own words. On public runs others do not see it."
        value={order.systemPrompt}
        onChange={(systemPrompt) => set({ systemPrompt })}
        problem={problems.systemPrompt}
      />
      <TechniqueFields order={order} set={set} problems={problems} />
    </>
  )
}
