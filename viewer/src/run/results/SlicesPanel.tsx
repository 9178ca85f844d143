/** The results of parts of the dataset, told apart by a label that people choose. */

import { useQuery } from '@tanstack/react-query'
import { count, plural } from '../../format'
import { Failure } from '../../parts/Failure'
import { Panel } from '../../parts/Panel'
import { Select } from '../../parts/Select'
import { Skeleton } from '../../parts/Skeleton'
import { readRunSearch } from '../search'
import type { ResultsProps } from './ResultsView'
import styles from './results.module.css'
import { slicesQuery } from './resultsQuery'
import { SliceTable } from './SliceTable'
import { groupedBy, SCORE } from './slices'
import type { Label } from './types'

export function SlicesPanel({ run, labels, search, onSearch }: ResultsProps & { labels: readonly Label[] }) {
  const chosen = search.slice === SCORE ? undefined : search.slice
  const wanted = groupedBy(labels, chosen, run.counts.done)
  const by = wanted === SCORE ? (labels[0]?.name ?? '') : wanted
  const { data, error, refetch } = useQuery({ ...slicesQuery(run.id, by), enabled: by !== '' })
  const options = labels.map(({ name, values }) => ({ value: name, label: `${name} (${count(values)})` }))
  if (!labels.some(({ name }) => name === by)) options.push({ value: by, label: by })
  return (
    <Panel
      title="Slices"
      note={data === undefined ? undefined : plural(data.slices.length + data.more, 'value')}
      actions={
        <Select
          label="by"
          options={options}
          value={by}
          onChange={(slice) => onSearch(readRunSearch({ ...search, slice }))}
        />
      }
      flush
    >
      {error !== null && data === undefined && (
        <Failure error={error} title="The slices could not be loaded" onRetry={() => void refetch()} />
      )}
      {error === null && data === undefined && <Skeleton height="9rem" />}
      {data !== undefined && <SliceTable data={data} run={run} search={search} onSearch={onSearch} />}
      {data !== undefined && data.more > 0 && (
        <p className={styles.more}>{plural(data.more, 'more value')} of this label not shown.</p>
      )}
    </Panel>
  )
}
