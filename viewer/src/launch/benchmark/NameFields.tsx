import { Row } from '../../form/Row'
import { TextField } from '../../form/TextField'
import type { PartProps } from './BenchmarkForm'

/** By what the runs are found again. */
export function NameFields({ draft, set, problems }: PartProps) {
  return (
    <Row>
      <TextField
        label="Name"
        optional
        hint="{model} stands for the name of the model."
        spellCheck={false}
        placeholder="made from benchmark and model"
        value={draft.name}
        onChange={(name) => set({ name })}
        problem={problems.name}
      />
      <TextField
        label="Tags"
        optional
        hint="Separated by commas."
        value={draft.tags}
        onChange={(tags) => set({ tags })}
      />
    </Row>
  )
}
