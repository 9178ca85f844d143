import { Row } from '../form/Row'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import type { PartProps } from './EvaluateForm'

/** What it is called, and further settings. */
export function NameFields({ draft, set, problems }: PartProps) {
  return (
    <>
      <Row>
        <TextField
          label="Name"
          optional
          maxLength={96}
          spellCheck={false}
          hint="Unique in the workspace; by default made of the configuration's."
          value={draft.name}
          onChange={(name) => set({ name })}
          problem={problems.name}
        />
        <TextField
          label="Tags"
          optional
          placeholder="baseline, release"
          hint="Separated by commas."
          value={draft.tags}
          onChange={(tags) => set({ tags })}
          problem={problems.tags}
        />
      </Row>
      <TextArea
        label="Settings"
        optional
        rows={3}
        hint="In place of those of the configuration, one in a line: evaluation.pass_threshold = 0.5"
        placeholder="evaluation.pass_threshold = 0.5"
        value={draft.settings}
        onChange={(settings) => set({ settings })}
        problem={problems.settings}
      />
    </>
  )
}
