import type { Schema } from '../api/types'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import type { PartProps } from './LaunchForm'
import { modelOptions, patternOf } from './models'
import { TechniqueFields } from './TechniqueFields'

/** Who plays. */
export function AgentFields({
  request,
  set,
  problems,
  models,
  guest,
}: PartProps & { models: readonly Schema<'OfferedModel'>[]; guest: boolean }) {
  const pattern = patternOf(models, request.model)
  return (
    <>
      <SelectField
        label="Model"
        hint="Unavailable models are listed with the reason."
        value={pattern?.name ?? request.model}
        onChange={(model) => set({ model })}
        options={modelOptions(models, request.model, guest)}
        problem={pattern ? undefined : problems.model}
      />
      {pattern && (
        <TextField
          label="Model name"
          hint={`The full name, in place of ${pattern.name}.`}
          spellCheck={false}
          value={request.model}
          onChange={(model) => set({ model })}
          problem={problems.model}
        />
      )}
      {!request.official && (
        <Row>
          <TextField
            label="Temperature"
            inputMode="decimal"
            hint="0 gives the most likely reply."
            value={request.temperature}
            onChange={(temperature) => set({ temperature })}
            problem={problems.temperature}
          />
          <TextField
            label="Maximum tokens"
            inputMode="numeric"
            hint="Per reply. Too few truncate actions."
            value={request.maxTokens}
            onChange={(maxTokens) => set({ maxTokens })}
            problem={problems.maxTokens}
          />
        </Row>
      )}
      <TextArea
        label="System prompt"
        optional
        hint="Added to the environment's own prompt. Hidden from others on public runs."
        value={request.systemPrompt}
        onChange={(systemPrompt) => set({ systemPrompt })}
        problem={problems.systemPrompt}
      />
      <TechniqueFields request={request} set={set} problems={problems} />
    </>
  )
}
