import { Row } from '../form/Row'
import { TextField } from '../form/TextField'

interface NameFieldsProps {
  name: string
  tags: string
  set: (change: { name?: string; tags?: string }) => void
  problems: { name?: string; tags?: string }
  /** What a run without a name is called. */
  usual: string
}

/** By what runs are found again. */
export function NameFields({ name, tags, set, problems, usual }: NameFieldsProps) {
  return (
    <Row>
      <TextField
        label="Name"
        optional
        maxLength={200}
        hint="{model} stands for the name of the model."
        spellCheck={false}
        placeholder={usual}
        value={name}
        onChange={(typed) => set({ name: typed })}
        problem={problems.name}
      />
      <TextField
        label="Tags"
        optional
        hint="Separated by commas."
        value={tags}
        onChange={(typed) => set({ tags: typed })}
        problem={problems.tags}
      />
    </Row>
  )
}
