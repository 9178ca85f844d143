/** The wrong answers of a run by cause, reason, behaviour or label: each row filters the table. */

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/error'
import { documentQuery } from '../../api/query'
import { source } from '../../api/source'
import type { Schema } from '../../api/types'
import { count, plural } from '../../format'
import { Button } from '../../parts/Button'
import { Failure } from '../../parts/Failure'
import { Panel } from '../../parts/Panel'
import { Select } from '../../parts/Select'
import { Skeleton } from '../../parts/Skeleton'
import { runName } from '../../runs/runName'
import { isGoing } from '../headline'
import { resultsQuery } from '../results/resultsQuery'
import { unitOf } from '../results/rollout'
import { type RunSearch, readRunSearch } from '../search'
import { chosenKind, isChosen, kindFilter, kindWords, pointsWords, shareWords, wrongNote } from './words'
import styles from './wrong.module.css'
import { GROUPINGS, wrongQuery } from './wrongQuery'

interface WrongPanelProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch) => void
}

const SHOWN = 8
const NOBODY = ''

export function WrongPanel({ run, search, onSearch }: WrongPanelProps) {
  const by = search.wrong ?? 'mistake'
  const { data, error, refetch } = useQuery(wrongQuery(run.id, by, search.against))
  // Why answers are wrong gives right answers away, so the public is not told.
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null
  // No answer is wrong where no value is better than another.
  if (run.primary?.directed === false) return null
  // A number that a file states of all its documents says of none whether it is wrong.
  if (run.primary?.aggregation === 'imported') return null
  const set = (part: Partial<RunSearch>) => onSearch(readRunSearch({ ...search, ...part }))
  return (
    <Panel
      title="Wrong answers"
      note={data === undefined || data.measured === 0 ? undefined : wrongNote(data)}
      actions={
        data !== undefined &&
        data.wrong > 0 && (
          <>
            <By run={run} by={by} onChange={(wrong) => set({ wrong: wrong === 'mistake' ? undefined : wrong })} />
            {source.live && <Against run={run} value={search.against} onChange={(against) => set({ against })} />}
            {search.against !== undefined && (
              <Link to="/compare" search={{ run: [search.against, run.id], tasks: 'flipped' }}>
                Task by task
              </Link>
            )}
          </>
        )
      }
    >
      {error !== null && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height="11rem" />}
      {data !== undefined && data.wrong === 0 && <p className="muted">{nothingWords(run, data)}</p>}
      {data !== undefined && data.wrong > 0 && (
        <Kinds key={by} data={data} by={by} search={search} onSearch={onSearch} />
      )}
    </Panel>
  )
}

function nothingWords(run: Schema<'RunDetail'>, { measured }: Schema<'WrongAnswersDocument'>): string {
  const unit = unitOf(run)
  if (measured === 0) return `No ${unit} has a score${isGoing(run) ? ' yet' : ''}.`
  return `None. ${measured === 1 ? `The only scored ${unit} passed.` : `All ${count(measured)} scored ${unit}s passed.`}`
}

function By({ run, by, onChange }: { run: WrongPanelProps['run']; by: string; onChange: (by: string) => void }) {
  const { data } = useQuery(resultsQuery(run.id))
  const labels = (data?.labels ?? []).flatMap(({ name }) =>
    name === 'trial' ? [] : [{ value: `label:${name}`, label: name }],
  )
  return <Select quiet label="by" options={[...GROUPINGS, ...labels]} value={by} onChange={onChange} />
}

/** Another run of the same benchmark to hold the shares against. */
function Against({
  run,
  value,
  onChange,
}: {
  run: WrongPanelProps['run']
  value: string | undefined
  onChange: (against: string | undefined) => void
}) {
  const { data } = useQuery(documentQuery('/api/runs', { query: { benchmark: [run.benchmark], limit: 50 } }))
  const others = (data?.items ?? []).filter(({ id }) => id !== run.id)
  if (others.length === 0 && value === undefined) return null
  const options = [
    { value: NOBODY, label: 'no other run' },
    ...others.map((other) => ({ value: other.id, label: `${other.model.split('/').at(-1)} · ${runName(other)}` })),
  ]
  if (value !== undefined && !others.some(({ id }) => id === value)) options.push({ value, label: value.slice(0, 13) })
  return (
    <Select
      quiet
      label="against"
      options={options}
      value={value ?? NOBODY}
      onChange={(id) => onChange(id === NOBODY ? undefined : id)}
    />
  )
}

interface KindsProps {
  data: Schema<'WrongAnswersDocument'>
  by: string
  search: RunSearch
  onSearch: (search: RunSearch) => void
}

function Kinds({ data, by, search, onSearch }: KindsProps) {
  const [all, setAll] = useState(false)
  const shown = all ? data.kinds : data.kinds.slice(0, SHOWN)
  const most = Math.max(...data.kinds.map(({ share }) => share.high ?? share.value ?? 0), 0.01)
  const compared = data.other_wrong !== null
  const rest = data.kinds.slice(SHOWN)
  return (
    <>
      <table className={styles.kinds} data-compared={compared || undefined}>
        <thead>
          <tr>
            <th scope="col">{headOf(by)}</th>
            <th scope="col">Count</th>
            <th scope="col" className={styles.wide}>
              Share of wrong answers
            </th>
            <th scope="col">Share</th>
            <th scope="col">95 %</th>
            {compared && <th scope="col">Points</th>}
          </tr>
        </thead>
        <tbody>
          {shown.map((kind) => (
            <KindRow
              key={kind.value ?? '\u0000'}
              kind={kind}
              by={by}
              most={most}
              compared={compared}
              chosen={isChosen(search, by, kind.value)}
              onChoose={() => onSearch(chosenKind(search, by, kind.value))}
            />
          ))}
        </tbody>
      </table>
      {rest.length > 0 && (
        <Button look="quiet" onClick={() => setAll(!all)} aria-expanded={all}>
          {all
            ? 'Fewer'
            : `${plural(rest.length, 'more kind')}, ${plural(
                rest.reduce((sum, kind) => sum + kind.count, 0),
                'answer',
              )}`}
        </Button>
      )}
      {all && data.more > 0 && <p className="muted">{plural(data.more, 'more kind')} not shown.</p>}
    </>
  )
}

function headOf(by: string): string {
  const known = GROUPINGS.find(({ value }) => value === by)?.label ?? by.replace('label:', '')
  return known.charAt(0).toUpperCase() + known.slice(1)
}

interface KindRowProps {
  kind: Schema<'WrongKindDocument'>
  by: string
  most: number
  compared: boolean
  chosen: boolean
  onChoose: () => void
}

function KindRow({ kind, by, most, compared, chosen, onChoose }: KindRowProps) {
  const words = kindWords(by, kind.value)
  const { share, range } = shareWords(kind.share)
  const { points, beyond, title } = pointsWords(kind.difference)
  const place = (part: number | null) => `${(100 * (part ?? 0)) / most}%`
  return (
    <tr data-chosen={chosen || undefined}>
      <th scope="row" data-full={words}>
        {kindFilter(by, kind.value) === null ? (
          <span className={styles.name}>
            <bdi>{words}</bdi>
          </span>
        ) : (
          <button type="button" className={styles.name} aria-pressed={chosen} onClick={onChoose}>
            <bdi>{words}</bdi>
          </button>
        )}
      </th>
      <td>{count(kind.count)}</td>
      <td className={styles.wide}>
        <span className={styles.track} aria-hidden="true">
          <span className={styles.fill} style={{ width: place(kind.share.value) }} />
          <span
            className={styles.range}
            style={{ left: place(kind.share.low), right: `calc(100% - ${place(kind.share.high)})` }}
          />
        </span>
      </td>
      <td>{share}</td>
      <td className="muted">{range}</td>
      {compared && (
        <td className={beyond ? undefined : 'muted'} data-beyond={beyond || undefined} data-full={title}>
          {points}
        </td>
      )}
    </tr>
  )
}
