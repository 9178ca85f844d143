import { Row } from '../form/Row'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import type { PartProps } from './LaunchForm'
import { TechniqueFields } from './TechniqueFields'

/** How the models play. */
export function AgentFields({ request, set, problems }: PartProps) {
  return (
    <>
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
