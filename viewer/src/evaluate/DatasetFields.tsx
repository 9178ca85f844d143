import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { plural } from '../format'
import type { PartProps } from './EvaluateForm'
import type { RowChoice } from './evaluation'

const CHOICES: readonly { value: RowChoice; label: string }[] = [
  { value: 'configured', label: 'as configured' },
  { value: 'all', label: 'all rows' },
  { value: 'first', label: 'the first rows' },
  { value: 'chosen', label: 'chosen rows' },
]

/** Which rows of which dataset. */
export function DatasetFields({ draft, set, problems, configured }: PartProps & { configured: string | undefined }) {
  const datasets = useDatasets(draft.workspace)
  const chosen = datasets.find(({ id, name }) => id === draft.dataset || (draft.dataset === '' && name === configured))
  const versions = useVersions(draft.workspace, chosen?.id ?? draft.dataset)
  const unknown = draft.dataset !== '' && !datasets.some(({ id }) => id === draft.dataset)
  return (
    <>
      <Row>
        <SelectField
          label="Dataset"
          value={draft.dataset}
          onChange={(dataset) => set({ dataset, version: '' })}
          problem={problems.dataset}
          options={[
            { value: '', label: configured ? `as configured: ${configured}` : 'as configured' },
            ...datasets.map(({ id, name, rows }) => ({
              value: id,
              label: rows == null ? name : `${name}, ${plural(rows, 'row')}`,
            })),
            ...(unknown ? [{ value: draft.dataset, label: 'that of the run' }] : []),
          ]}
        />
        <SelectField
          label="Version"
          value={draft.version}
          onChange={(version) => set({ version })}
          problem={problems.version}
          options={versionOptions(draft.version, versions)}
        />
      </Row>
      <Row>
        <SelectField
          label="Rows"
          value={draft.choice}
          onChange={(choice) => set({ choice: choice as RowChoice })}
          options={CHOICES}
        />
        {draft.choice === 'first' && (
          <TextField
            label="Number of rows"
            inputMode="numeric"
            value={draft.first}
            onChange={(first) => set({ first })}
            problem={problems.first}
          />
        )}
        {draft.choice === 'chosen' && (
          <TextField
            label="Chosen rows"
            hint="From 0, for example 3, 7, 10-20."
            spellCheck={false}
            value={draft.rows}
            onChange={(rows) => set({ rows })}
            problem={problems.rows}
          />
        )}
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
    </>
  )
}

const NONE: readonly Schema<'DatasetItem'>[] = []
const MOST = 100

function useDatasets(workspace: string): readonly Schema<'DatasetItem'>[] {
  const path = '/api/workspaces/{workspace}/datasets'
  const query = documentQuery(path, { params: { workspace }, query: { limit: MOST } })
  return useQuery({ ...query, enabled: workspace !== '' }).data?.items ?? NONE
}

function useVersions(workspace: string, dataset: string): Schema<'DatasetDocument'>['versions'] {
  const path = '/api/workspaces/{workspace}/datasets/{dataset}'
  const query = documentQuery(path, { params: { workspace, dataset } })
  return useQuery({ ...query, enabled: workspace !== '' && dataset !== '' }).data?.versions ?? []
}

function versionOptions(chosen: string, versions: Schema<'DatasetDocument'>['versions']) {
  const ready = versions.filter(({ status }) => status === 'uploaded')
  const known = chosen === '' || ready.some(({ version }) => String(version) === chosen)
  return [
    { value: '', label: 'the newest' },
    ...ready.map(({ version, rows }) => ({
      value: String(version),
      label: rows == null ? `version ${version}` : `version ${version}, ${plural(rows, 'row')}`,
    })),
    ...(known ? [] : [{ value: chosen, label: `version ${chosen}` }]),
  ]
}
