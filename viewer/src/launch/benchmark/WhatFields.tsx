import { useState } from 'react'
import { useDocument } from '../../api/query'
import type { Schema } from '../../api/types'
import styles from '../../form/form.module.css'
import { Row } from '../../form/Row'
import { SelectField } from '../../form/SelectField'
import { TextField } from '../../form/TextField'
import { count, plural } from '../../format'
import { Button } from '../../parts/Button'
import own from '../launch.module.css'
import type { PartProps } from './BenchmarkForm'
import { settable } from './draft'

type Parameter = Schema<'ParameterDocument'>

interface WhatFieldsProps extends PartProps {
  benchmarks: readonly Schema<'BenchmarkSummary'>[]
  workspaces: readonly Schema<'WorkspaceDocument'>[]
  detail: Schema<'BenchmarkDetail'> | undefined
}

/** Which benchmark, how much of it, and with which settings. */
export function WhatFields({ draft, set, problems, benchmarks, workspaces, detail }: WhatFieldsProps) {
  const hosted = benchmarks.filter((one) => one.hosted)
  const others = benchmarks.filter((one) => one.command !== null && !one.hosted).length
  const whole = detail?.coverage.total
  return (
    <div className={own.fields}>
      <Row>
        <SelectField
          label="Benchmark"
          hint={benchmarkHint(detail, others)}
          value={draft.benchmark}
          onChange={(benchmark) => set({ benchmark, settings: {}, tasks: '' })}
          options={[
            { value: '', label: 'Choose…', disabled: true },
            ...hosted.map(({ id, title }) => ({ value: id, label: title || id })),
          ]}
          problem={problems.benchmark}
        />
        <SelectField
          label="Workspace"
          hint="Its members see the runs; its datasets can be used."
          value={draft.workspace}
          onChange={(workspace) => set({ workspace })}
          options={[
            ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
            { value: '', label: 'none: only you see the runs' },
          ]}
        />
      </Row>
      <Row>
        <TextField
          label="Tasks"
          optional
          inputMode="numeric"
          placeholder={whole ? `all ${count(whole)}` : 'all'}
          hint={intervalHint(draft.tasks, whole)}
          disabled={detail !== undefined && !detail.parameters.some(({ sampling }) => sampling)}
          value={draft.tasks}
          onChange={(tasks) => set({ tasks })}
          problem={problems.tasks}
        />
        <TextField
          label="Trials of each"
          optional
          inputMode="numeric"
          placeholder="1"
          value={draft.trials}
          onChange={(trials) => set({ trials })}
          problem={problems.trials}
        />
        <TextField
          label="Episodes at once"
          inputMode="numeric"
          value={draft.parallel}
          onChange={(parallel) => set({ parallel })}
          problem={problems.parallel}
        />
      </Row>
      {detail && <Settings draft={draft} set={set} problems={problems} parameters={settable(detail.parameters)} />}
    </div>
  )
}

function benchmarkHint(detail: Schema<'BenchmarkDetail'> | undefined, others: number): string {
  if (detail) {
    const words = `${detail.kind}, version ${detail.version}`
    return detail.metric && detail.metric !== 'score'
      ? `${words}; scored by ${detail.metric.replaceAll('_', ' ')}`
      : words
  }
  return others > 0
    ? `${plural(others, 'further one')} start programs of their own: run those on a machine of yours.`
    : ''
}

/** How precise a score of 0 or 1 becomes; of the middle, where the interval is widest. */
function intervalHint(tasks: string, whole: number | null | undefined): string {
  const number = tasks.trim() === '' ? (whole ?? 0) : Number(tasks)
  if (!(number > 0)) return ''
  return `The interval is about ±${(1.96 * Math.sqrt(0.25 / number)).toFixed(2)} at 0.50.`
}

interface SettingsProps extends PartProps {
  parameters: readonly Parameter[]
}

/** Parameters that differ from what is usual; files are datasets of the workspace. */
function Settings({ draft, set, problems, parameters }: SettingsProps) {
  const [adds, setAdds] = useState(false)
  const chosen = parameters.filter(({ name }) => name in draft.settings)
  const left = parameters.filter(({ name }) => !(name in draft.settings))
  const change = (name: string, value: string | undefined) => {
    const { [name]: _before, ...others } = draft.settings
    set({ settings: value === undefined ? others : { ...others, [name]: value } })
  }
  return (
    <fieldset className={styles.group}>
      <legend>Settings</legend>
      {chosen.map((parameter) => (
        <div key={parameter.name} className={own.setting}>
          <Setting
            parameter={parameter}
            workspace={draft.workspace}
            value={draft.settings[parameter.name] ?? ''}
            onChange={(value) => change(parameter.name, value)}
            problem={problems[`settings.${parameter.name}`]}
          />
          <Button look="quiet" icon="close" onClick={() => change(parameter.name, undefined)}>
            <span className="hidden-text">Remove {parameter.name}</span>
          </Button>
        </div>
      ))}
      {adds ? (
        <SelectField
          label="Parameter"
          value=""
          onChange={(name) => {
            const usual = parameters.find((one) => one.name === name)?.default
            change(name, usual == null ? '' : typeof usual === 'object' ? JSON.stringify(usual) : String(usual))
            setAdds(false)
          }}
          options={[
            { value: '', label: 'Choose…', disabled: true },
            ...left.map(({ name, help }) => ({ value: name, label: `${name}: ${help}`.slice(0, 90) })),
          ]}
        />
      ) : (
        <span>
          <Button icon="plus" onClick={() => setAdds(true)}>
            Setting
          </Button>{' '}
          {chosen.length === 0 && <span className="muted">as the benchmark has them</span>}
        </span>
      )}
    </fieldset>
  )
}

interface SettingProps {
  parameter: Parameter
  workspace: string
  value: string
  onChange: (value: string) => void
  problem: string | undefined
}

function Setting({ parameter, workspace, value, onChange, problem }: SettingProps) {
  const field = { label: parameter.name, hint: parameter.help, value, onChange, problem }
  if (parameter.type === 'path') return <DatasetSetting {...field} workspace={workspace} />
  const choices = parameter.type === 'boolean' ? [true, false] : parameter.choices
  if (choices.length === 0) return <TextField {...field} spellCheck={false} />
  const listed = choices.map((one) => ({ value: String(one) }))
  return <SelectField {...field} options={[{ value: '', label: 'Choose…', disabled: true }, ...listed]} />
}

interface DatasetSettingProps {
  label: string
  hint: string
  value: string
  onChange: (value: string) => void
  problem: string | undefined
  workspace: string
}

/** A file of a benchmark: on a server it is a dataset of the workspace. */
function DatasetSetting({ workspace, ...field }: DatasetSettingProps) {
  if (workspace === '')
    return <TextField {...field} value="" disabled problem="Files are datasets of a workspace: choose one above." />
  return <DatasetSelect {...field} workspace={workspace} />
}

function DatasetSelect({ workspace, ...field }: DatasetSettingProps) {
  const datasets = useDocument('/api/workspaces/{workspace}/datasets', { params: { workspace } })
  const usable = datasets.data?.items.filter(({ status }) => status === 'uploaded') ?? []
  return (
    <SelectField
      {...field}
      options={[
        { value: '', label: usable.length > 0 ? 'Choose a dataset…' : 'The workspace has no dataset', disabled: true },
        ...usable.map(({ name }) => ({ value: `dataset:${name}`, label: name })),
      ]}
    />
  )
}
