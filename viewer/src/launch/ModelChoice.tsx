import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Schema } from '../api/types'
import { duration, money } from '../format'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { PlainTable } from '../parts/PlainTable'
import { SearchField } from '../parts/SearchField'
import { When } from '../parts/When'
import styles from './launch.module.css'

type Model = Schema<'OfferedModel'>

interface ModelChoiceProps {
  chosen: readonly string[]
  onChange: (models: string[]) => void
  problem: string | undefined
  workspace: string
  models: readonly Model[]
  forecast: Schema<'Forecast'> | undefined
}

/** The models of the server: those with a tick are run, each with what its run would come to. */
export function ModelChoice({ chosen, onChange, problem, workspace, models, forecast }: ModelChoiceProps) {
  const [filter, setFilter] = useState('')
  const [named, setNamed] = useState('')
  const here = models.filter(({ workspaces }) => workspaces == null || workspaces.includes(workspace))
  const patterns = here.filter(({ name }) => name.endsWith('*'))
  const listed = here.filter(({ name }) => !name.endsWith('*'))
  const own = chosen.filter((name) => !listed.some((one) => one.name === name))
  const rows = [...listed, ...own.map((name) => ({ name, title: '', available: true, reason: '' }))]
  const shown = rows.filter(({ name, title }) => `${name} ${title}`.toLowerCase().includes(filter.toLowerCase()))
  const choose = (name: string, wanted: boolean) =>
    onChange(wanted ? [...chosen, name] : chosen.filter((one) => one !== name))
  return (
    <>
      <div className={styles.modelHead}>
        <SearchField label="Filter models" value={filter} onChange={setFilter} />
        {patterns.length > 0 && (
          <span className={styles.named}>
            <input
              type="text"
              aria-label="Full name of a model"
              placeholder={patterns.map(({ name }) => name).join(', ')}
              value={named}
              onChange={(event) => setNamed(event.target.value)}
            />
            <Button
              icon="plus"
              disabled={
                !patterns.some(({ name }) => named.startsWith(name.slice(0, -1)) && named.length >= name.length)
              }
              onClick={() => {
                choose(named.trim(), true)
                setNamed('')
              }}
            >
              Add
            </Button>
          </span>
        )}
      </div>
      {problem && (
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
      )}
      <PlainTable label="Models to run" className={styles.models}>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" data-numeric>
              Cost
            </th>
            <th scope="col" data-numeric data-minor>
              Per episode
            </th>
            <th scope="col" data-numeric data-minor>
              Time
            </th>
            <th scope="col" data-minor>
              Estimated from
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((model) => (
            <ModelRow
              key={model.name}
              model={model}
              chosen={chosen.includes(model.name)}
              asked={chosen.length === 0 || chosen.includes(model.name)}
              onChoose={(wanted) => choose(model.name, wanted)}
              run={forecast?.runs.find((one) => one.model === model.name)}
            />
          ))}
        </tbody>
      </PlainTable>
      {shown.length === 0 && <p className={styles.empty}>No model matches.</p>}
    </>
  )
}

interface ModelRowProps {
  model: Pick<Model, 'name' | 'title' | 'available' | 'reason'>
  chosen: boolean
  /** Whether it is run: as chosen, or as configured where none is. */
  asked: boolean
  onChoose: (chosen: boolean) => void
  run: Schema<'RunForecast'> | undefined
}

function ModelRow({ model, chosen, asked, onChoose, run }: ModelRowProps) {
  const { name, title, available } = model
  const found = asked ? run : undefined
  const usd = found?.usd
  return (
    <tr data-chosen={chosen || undefined}>
      <th scope="row">
        <label className={styles.model}>
          <input
            type="checkbox"
            checked={chosen}
            disabled={!available && !chosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
          <bdi data-tip={title || undefined}>{name}</bdi> <Reference name={name} />
        </label>
        <span className={styles.under}>
          <Why model={model} run={found} />
        </span>
      </th>
      <td data-numeric className="number" data-tip={usd ? `likely ${money(usd.low)} – ${money(usd.high)}` : undefined}>
        {usd ? money(usd.value) : '–'}
      </td>
      <td data-numeric data-minor className="number">
        {usd && found && found.episodes > 0 ? money(usd.value / found.episodes) : '–'}
      </td>
      <td data-numeric data-minor className="number">
        {found?.seconds ? duration(found.seconds.value) : '–'}
      </td>
      <td data-minor className={styles.basis}>
        <Why model={model} run={found} />
      </td>
    </tr>
  )
}

/** What the numbers of a model are from, or why it has none. */
function Why({ model, run }: Pick<ModelRowProps, 'model' | 'run'>) {
  return model.available ? <Basis run={run} /> : <span className="muted">{model.reason}</span>
}

/** The built-in agents, between which models are. */
function Reference({ name }: { name: string }) {
  if (name === 'builtin/random' || name === 'builtin/empty') return <Badge>floor</Badge>
  return name === 'builtin/oracle' ? <Badge>ceiling</Badge> : null
}

/** The run that the numbers are from, or why there are none. */
function Basis({ run }: { run: Schema<'RunForecast'> | undefined }) {
  if (run === undefined) return null
  if (run.refused) return <span className={styles.refused}>{run.refused}</span>
  if (run.basis === null) return <span className="muted">{run.free ? 'costs nothing' : run.note}</span>
  return (
    <>
      <Link to="/runs/$runId" params={{ runId: run.basis.run_id }} data-tip={run.basis.name}>
        {run.basis.episodes} episodes
      </Link>
      <span className="muted">
        , <When at={run.basis.created_at} />
        {run.note && `; ${run.note}`}
      </span>
    </>
  )
}
