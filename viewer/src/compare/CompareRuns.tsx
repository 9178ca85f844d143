import { useState } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { CompareAdd } from './CompareAdd'
import { CompareRun } from './CompareRun'
import styles from './CompareRuns.module.css'
import { type CompareSearch, MOST_RUNS, withBaseline, withoutRun, withRun } from './CompareSearch'

/** Which runs are compared. */
interface CompareRunsProps {
  search: CompareSearch
  onChange: (search: CompareSearch) => void
  /** The runs as the comparison has them, in the order of the address. */
  runs: readonly Schema<'RunSummary'>[] | undefined
  /** Whether that is on its way. */
  waiting: boolean
}

/** The chosen runs, and a way to choose more. */
export function CompareRuns({ search, onChange, runs, waiting }: CompareRunsProps) {
  const ids = search.run ?? []
  const [adding, setAdding] = useState(false)
  const open = adding || ids.length < 2
  return (
    <section className={styles.runs} aria-label="Compared runs">
      <ol className={styles.list}>
        {ids.map((id, index) => (
          <li key={id}>
            <CompareRun
              id={id}
              index={index}
              run={runs?.[index]}
              waiting={waiting}
              onBaseline={() => onChange(withBaseline(search, id))}
              onRemove={() => onChange(withoutRun(search, id))}
            />
          </li>
        ))}
        {!open && ids.length < MOST_RUNS && (
          <li>
            <Button icon="plus" onClick={() => setAdding(true)}>
              Add a run
            </Button>
          </li>
        )}
      </ol>
      {open && ids.length < MOST_RUNS && (
        <Adding
          ids={ids}
          benchmark={runs?.[0]?.benchmark}
          onAdd={(id) => onChange(withRun(search, id))}
          onClose={ids.length < 2 ? undefined : () => setAdding(false)}
        />
      )}
    </section>
  )
}

interface AddingProps {
  ids: readonly string[]
  benchmark: string | undefined
  onAdd: (id: string) => void
  onClose: (() => void) | undefined
}

function Adding({ ids, benchmark, onAdd, onClose }: AddingProps) {
  const [first] = ids
  if (benchmark !== undefined || first === undefined) {
    return <CompareAdd ids={ids} benchmark={benchmark} onAdd={onAdd} onClose={onClose} />
  }
  return <AddingToFirst id={first} ids={ids} onAdd={onAdd} onClose={onClose} />
}

function AddingToFirst({ id, ...rest }: Omit<AddingProps, 'benchmark'> & { id: string }) {
  const { data } = useDocument('/api/runs/{run_id}', { params: { run_id: id } })
  return <CompareAdd benchmark={data?.benchmark} {...rest} />
}
