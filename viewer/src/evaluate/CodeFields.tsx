import type { UseQueryResult } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import { SelectField } from '../form/SelectField'
import { relative } from '../format'
import type { PartProps } from './EvaluateForm'
import { type Code, codeKey, codeLabel, configurationsOf, SAME } from './evaluation'

interface CodeFieldsProps extends PartProps {
  workspaces: readonly Schema<'WorkspaceDocument'>[]
  codes: UseQueryResult<Code[]>
  earlier?: Schema<'RunDetail'>
}

/** Where it runs, and what. */
export function CodeFields({ draft, set, problems, workspaces, codes, earlier }: CodeFieldsProps) {
  const known = codes.data ?? []
  const evaluation = earlier?.request?.evaluation
  const chosen = known.find((one) => codeKey(one) === draft.code)
  return (
    <>
      <SelectField
        label="Workspace"
        value={draft.workspace}
        onChange={(workspace) => set({ workspace, code: '', configuration: '', dataset: '', version: '' })}
        problem={problems.workspace}
        options={workspaces
          .filter(({ id }) => evaluation == null || id === evaluation.workspace)
          .map(({ id, name }) => ({ value: id, label: name }))}
      />
      <SelectField
        label="Code"
        hint={hintOf(chosen, draft.code)}
        value={draft.code}
        onChange={(code) => set({ code })}
        problem={problems.code ?? (codes.error ? codes.error.message : nothing(codes))}
        options={[
          ...(evaluation
            ? [{ value: SAME, label: `as in ${earlier?.name}: ${evaluation.branch} ${evaluation.commit.slice(0, 7)}` }]
            : []),
          ...(draft.code === '' ? [{ value: '', label: 'Choose…', disabled: true }] : []),
          ...known.map((one) => ({
            value: codeKey(one),
            label: `${codeLabel(one)}, ${relative(one.at)}`,
          })),
        ]}
      />
      {draft.code !== SAME && (
        <SelectField
          label="Configuration"
          value={draft.configuration}
          onChange={(configuration) => set({ configuration })}
          problem={problems.configuration}
          options={configurationOptions(draft.configuration, configurationsOf(draft, known))}
        />
      )}
    </>
  )
}

function hintOf(chosen: Code | undefined, code: string): string {
  if (code === SAME) return 'Code and configuration of that run, with the changes below.'
  if (chosen?.kind === 'commit') return chosen.message.split('\n')[0] ?? ''
  return 'The newest synced commits, and what was uploaded.'
}

function nothing(codes: UseQueryResult<Code[]>): string | undefined {
  return codes.data?.length === 0
    ? 'Nothing is synced or uploaded yet. Connect a repository, or upload a folder with mesocosm workspace upload.'
    : undefined
}

function configurationOptions(chosen: string, configurations: Code['configurations']) {
  const known = chosen === '' || configurations.some(({ path }) => path === chosen)
  return [
    ...(chosen === '' ? [{ value: '', label: 'Choose…', disabled: true }] : []),
    ...configurations.map(({ path, valid, rollout }) => ({
      value: path,
      label: valid ? `${path} (${rollout})` : `${path}: invalid, see its sync`,
      disabled: !valid,
    })),
    ...(known ? [] : [{ value: chosen, label: `${chosen}: not in this code` }]),
  ]
}
