/** What other frameworks offer on this machine, with the command that runs it. */

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../api/client'
import type { Schema } from '../api/types'
import { count, plural } from '../format'
import { Button } from '../parts/Button'
import { Command } from '../parts/Command'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from './FrameworkBenchmarks.module.css'

const FIRST = 20
const MORE = 10

/** The benchmarks of other frameworks that match a search; nothing where there are none. */
export function FrameworkBenchmarks({ q }: { q: string }) {
  const [limit, setLimit] = useState(FIRST)
  const { data } = useQuery({
    queryKey: ['/api/framework-benchmarks', null, { q, limit }],
    queryFn: ({ signal }) => get('/api/framework-benchmarks', { query: { q, limit }, signal }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
  if (data === undefined || (data.found === 0 && q !== '')) return null
  const here = data.frameworks.filter(({ benchmarks }) => benchmarks !== null)
  const asked = here.map(({ title }) => title).join(', ')
  const found = q === '' ? `${plural(data.found, 'benchmark')} of` : `${plural(data.found, 'match', 'matches')} in`
  const note = here.length === 0 ? undefined : `${found} ${asked}`
  return (
    <Panel title="Other frameworks" note={note} flush={data.items.length > 0}>
      {data.items.length === 0 ? (
        <p>
          Tasks of {data.frameworks.map(({ title }) => title).join(', ')} run here, too. Install one and search it:{' '}
          <Command>mesocosm guests install inspect && mesocosm bench search</Command>
        </p>
      ) : (
        <>
          <Rows items={data.items} frameworks={data.frameworks} />
          {data.found > data.items.length && (
            <div className={styles.more}>
              <Button onClick={() => setLimit(Math.min(limit * MORE, 1_000))}>Show more</Button>
            </div>
          )}
        </>
      )}
    </Panel>
  )
}

interface RowsProps {
  items: readonly Schema<'FrameworkBenchmark'>[]
  frameworks: readonly Schema<'Framework'>[]
}

function Rows({ items, frameworks }: RowsProps) {
  const titles = new Map(frameworks.map(({ name, title }) => [name, title]))
  return (
    <PlainTable label="Benchmarks of other frameworks" className={styles.table}>
      <thead>
        <tr>
          <th>Benchmark</th>
          <th data-numeric>Tasks</th>
          <th>Needs</th>
          <th>Run it</th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ run, title, description, tasks, needs, licence }) => (
          <tr key={run}>
            <th scope="row">
              <span className={styles.title}>
                <bdi>{title}</bdi>
              </span>
              <span className={styles.second} data-full={description.slice(0, 1_000)}>
                <bdi>{description.slice(0, 200)}</bdi>
              </span>
              <span className={styles.origin}>
                {[titles.get(run.split(':')[0] ?? ''), licence].filter(Boolean).join(' · ')}
              </span>
            </th>
            <td data-numeric data-label="Tasks" data-none={tasks === null || undefined}>
              {tasks === null ? '–' : count(tasks)}
            </td>
            <td data-label="Needs" data-none={needs.length === 0 || undefined}>
              {needs.join(', ') || '–'}
            </td>
            <td>
              <Command>{`mesocosm bench run ${run} -m MODEL`}</Command>
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
