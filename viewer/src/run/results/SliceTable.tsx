/** One row for every value of a label. */

import { count, exact, interval, measure } from '../../format'
import { Icon } from '../../parts/Icon'
import { IntervalBar } from '../../parts/IntervalBar'
import { PlainTable } from '../../parts/PlainTable'
import { TextButton } from '../../parts/TextButton'
import { type RunSearch, readRunSearch, type SliceKey, type SliceSort } from '../search'
import type { ResultsProps } from './ResultsView'
import styles from './results.module.css'
import { nextSliceSort, rewardScale, sortedSlices } from './slices'
import type { Part, Slice, Slices } from './types'

const HEADS: { key: SliceKey; label: string; title: string; numeric?: boolean }[] = [
  { key: 'value', label: 'Value', title: 'Value of the label' },
  { key: 'episodes', label: 'n', title: 'Scored / played samples', numeric: true },
  { key: 'reward', label: 'Reward', title: 'Mean with its 95% interval' },
  { key: 'pass_rate', label: 'Pass rate', title: 'Share of samples that passed with its 95% interval' },
  { key: 'failed', label: 'Failed', title: 'Samples that failed', numeric: true },
]

export function SliceTable({ data, search, onSearch }: ResultsProps & { data: Slices }) {
  const sort = search.slices ?? '-episodes'
  const scale = rewardScale(data.slices)
  return (
    <PlainTable label={`Results by ${data.by}`} className={styles.slices}>
      <thead>
        <tr>
          {HEADS.map(({ key, label, title, numeric }) => (
            <th key={key} scope="col" aria-sort={directionOf(sort, key)} data-numeric={numeric}>
              <button
                type="button"
                className={styles.sort}
                data-tip={title}
                onClick={() => onSearch(readRunSearch({ ...search, slices: nextSliceSort(sort, key) }), true)}
              >
                {label} <Icon name={ICONS[directionOf(sort, key)]} size={12} />
              </button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {sortedSlices(data.slices, sort).map((slice) => (
          <SliceRow
            key={slice.value === null ? 'without' : `is ${slice.value}`}
            slice={slice}
            scale={scale}
            onShow={() => onSearch(samplesOf(search, data.by, slice))}
          />
        ))}
      </tbody>
    </PlainTable>
  )
}

const ICONS = { ascending: 'arrowUp', descending: 'arrowDown', none: 'blank' } as const

function directionOf(sort: SliceSort, key: SliceKey): 'ascending' | 'descending' | 'none' {
  if (sort === key) return 'ascending'
  return sort === `-${key}` ? 'descending' : 'none'
}

/** The list of the samples of a slice, and the way back to the slices as they are. */
function samplesOf({ slice: by, slices }: RunSearch, label: string, { value }: Slice): RunSearch {
  return readRunSearch({ tab: 'samples', label: `${label}=${value}`, slice: by, slices })
}

interface SliceRowProps {
  slice: Slice
  scale: readonly [number, number]
  onShow: () => void
}

function SliceRow({ slice, scale, onShow }: SliceRowProps) {
  const { value, episodes, reward, pass_rate: passed, failed, missing, skipped } = slice
  return (
    <tr>
      <th scope="row" className={styles.value} data-tip={value ?? 'samples without this label'}>
        {value === null ? (
          <span className="muted">without</span>
        ) : (
          <TextButton onClick={onShow} data-tip="Show these samples">
            <bdi>{value === '' ? '(empty)' : value}</bdi>
          </TextButton>
        )}
      </th>
      <td data-numeric data-tip={nWords(slice)}>
        {count(reward.n)}/{count(episodes - skipped)}
      </td>
      <td>
        <Estimated estimate={reward} label="reward" scale={scale} />
      </td>
      <td>{passed === null ? <span className="muted">–</span> : <Estimated estimate={passed} label="pass rate" />}</td>
      <td data-numeric data-tip={missing > 0 ? `${count(missing)} of them are excluded` : undefined}>
        {failed > 0 ? <span className={styles.failed}>{count(failed)}</span> : '0'}
      </td>
    </tr>
  )
}

/** How many samples the numbers are of: the interval is theirs alone. */
function nWords({ reward, episodes, missing, skipped }: Slice): string {
  const parts = [`${count(reward.n)} scored of ${count(episodes - skipped)}`]
  if (missing > 0) parts.push(`${count(missing)} are excluded`)
  if (skipped > 0) parts.push(`${count(skipped)} skipped besides`)
  return parts.join(', ')
}

interface EstimatedProps {
  estimate: Part
  label: string
  scale?: readonly [number, number]
}

function Estimated({ estimate: { value, low, high, weak, n }, label, scale }: EstimatedProps) {
  return (
    <span className={styles.estimate} data-tip={`${exact(value)}; ${count(n)} samples`}>
      <span>{measure(value)}</span>
      <IntervalBar value={value} low={low} high={high} scale={scale} label={label} width="7rem" />
      <span className="muted">{interval(low, high, weak)}</span>
    </span>
  )
}
