/** The score of a run taken apart: by a label of its tasks or by trial, where each row filters the table, or as it is spread. */

import { useQuery } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import { count, interval, measure, plural } from '../format'
import { Failure } from '../parts/Failure'
import { IntervalBar } from '../parts/IntervalBar'
import { Panel } from '../parts/Panel'
import { Select } from '../parts/Select'
import { Skeleton } from '../parts/Skeleton'
import { DistributionPanel } from './DistributionPanel'
import styles from './GroupPanel.module.css'
import { slicesQuery } from './results/resultsQuery'
import { groupedBy, SCORE } from './results/slices'
import type { Label } from './results/types'
import { compact, type RunSearch, readRunSearch } from './search'

interface GroupPanelProps {
  run: Schema<'RunDetail'>
  labels: readonly Label[]
  search: RunSearch
  onSearch: (search: RunSearch) => void
}

const SHOWN = 9

export function GroupPanel({ run, labels, search, onSearch }: GroupPanelProps) {
  const by = groupedBy(labels, search.slice, run.counts.done)
  const { data, error, refetch } = useQuery({ ...slicesQuery(run.id, by), enabled: by !== SCORE })
  const options = [{ value: SCORE, label: 'score' }, ...labels.map(({ name }) => ({ value: name, label: name }))]
  if (!options.some(({ value }) => value === by)) options.push({ value: by, label: by })
  const choice = labels.length > 0 && (
    <Select
      quiet
      label="Group by"
      hideLabel
      options={options}
      value={by}
      onChange={(slice) => onSearch(readRunSearch({ ...search, slice }))}
    />
  )
  if (by === SCORE) return <DistributionPanel run={run} search={search} onSearch={onSearch} actions={choice} />
  return (
    <Panel title="Group by" actions={choice}>
      {error !== null && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height="11rem" />}
      {data !== undefined && <Groups data={data} run={run} search={search} onSearch={onSearch} />}
    </Panel>
  )
}

function Groups({ data, run, search, onSearch }: Omit<GroupPanelProps, 'labels'> & { data: Schema<'RunSlices'> }) {
  const values = inOrder(data.slices)
  const shown = values.slice(0, SHOWN)
  const scale = scaleOf(run, shown)
  return (
    <>
      <table className={styles.groups}>
        <thead>
          <tr>
            <th scope="col">{data.by}</th>
            <th scope="col">n</th>
            <th scope="col" className={styles.bar}>
              {run.primary?.name ?? 'Score'}, 95 %
            </th>
            <th scope="col">
              <span className="hidden-text">Value</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ value, episodes, reward }) => {
            const label = `${data.by}=${value ?? ''}`
            const chosen = search.label === label
            const choose = () => onSearch(compact({ ...search, tab: undefined, label: chosen ? undefined : label }))
            return (
              <tr key={value ?? '\u0000'} data-chosen={chosen || undefined}>
                <th scope="row" data-full={value ?? 'without this label'}>
                  {value === null ? (
                    <span className="muted">none</span>
                  ) : (
                    <button type="button" className={styles.name} aria-pressed={chosen} onClick={choose}>
                      <bdi>{value}</bdi>
                    </button>
                  )}
                </th>
                <td>{count(episodes)}</td>
                <td className={styles.bar}>
                  <IntervalBar {...reward} scale={scale} label={`${data.by} ${value ?? 'none'}`} />
                </td>
                <td data-tip={interval(reward.low, reward.high, reward.weak)}>{measure(reward.value)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {values.length + data.more > shown.length && (
        <p className="muted">{plural(values.length + data.more - shown.length, 'more value')}</p>
      )}
    </>
  )
}

/** Numbers by size, other values by how many tasks have them, as the server sends them. */
function inOrder(slices: readonly Schema<'SliceDocument'>[]): readonly Schema<'SliceDocument'>[] {
  const numeric = slices.every(({ value }) => value === null || (value !== '' && Number.isFinite(Number(value))))
  return numeric ? [...slices].sort((one, other) => Number(one.value) - Number(other.value)) : slices
}

/** The scale of all bars: 0 to 1, unless a value lies beyond. */
function scaleOf(run: Schema<'RunDetail'>, slices: readonly Schema<'SliceDocument'>[]): [number, number] {
  const known = slices.flatMap(({ reward }) => [reward.value, reward.low, reward.high]).filter((one) => one !== null)
  const low = Math.min(0, run.primary?.low ?? 0, ...known)
  const high = Math.max(...known, 0)
  return [low, high > 1 || low < 0 ? high : 1]
}
