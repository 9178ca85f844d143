import type { Schema } from '../api/types'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import type { PartProps } from './LaunchForm'

/** What is played. */
export function DomainFields({
  request,
  set,
  problems,
  domains,
  onDomain,
}: PartProps & { domains: readonly Schema<'Domain'>[]; onDomain: (id: string) => void }) {
  const domain = domains.find((one) => one.id === request.domain)
  return (
    <>
      <SelectField
        label="Domain"
        hint={domain?.detail ? clipped(domain.detail) : 'What is played, with its rules and scoring.'}
        value={request.domain}
        onChange={onDomain}
        problem={problems.domain ?? problems.environment}
        options={[
          { value: '', label: 'Choose…', disabled: true },
          ...domains.map((one) => ({ value: one.id, label: one.name })),
        ]}
      />
      <TextField
        label="Vow version"
        hint="The current version of the rules."
        spellCheck={false}
        value={request.version}
        onChange={(version) => set({ version })}
        problem={problems.version}
      />
    </>
  )
}

function clipped(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}
