import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { documentQuery } from '../api/query'
import { IconButton } from '../parts/IconButton'
import { Panel } from '../parts/Panel'
import { Score } from '../parts/Score'
import { SearchField } from '../parts/SearchField'
import { Unfinished } from '../parts/Unfinished'
import { When } from '../parts/When'
import { ModelName } from '../runs/ModelName'
import { runName } from '../runs/runName'
import styles from './CompareAdd.module.css'

/** What is chosen from. */
interface CompareAddProps {
  /** Runs that are chosen already. */
  ids: readonly string[]
  /** The benchmark of which runs are offered before anything is typed. */
  benchmark: string | undefined
  onAdd: (id: string) => void
  /** Missing while there is nothing else to do. */
  onClose: (() => void) | undefined
}

const OFFERED = 8

/** Runs to add: the newest ones, or those that are searched for. */
export function CompareAdd({ ids, benchmark, onAdd, onClose }: CompareAddProps) {
  const [text, setText] = useState('')
  const place = useRef<HTMLDivElement>(null)
  const asked = onClose !== undefined
  useEffect(() => {
    if (asked) place.current?.querySelector('input')?.focus()
  }, [asked])
  const same = text === '' && benchmark !== undefined
  const { data, error } = useQuery({
    ...documentQuery('/api/runs', {
      query: { q: text || undefined, benchmark: same ? [benchmark] : undefined, limit: OFFERED + ids.length },
    }),
    placeholderData: keepPreviousData,
  })
  const offered = data?.items.filter((run) => !ids.includes(run.id)).slice(0, OFFERED)
  return (
    <Panel>
      <div ref={place} className={styles.add}>
        <div className={styles.head}>
          <SearchField
            page
            label="Search runs to add"
            placeholder="Search runs to add…"
            value={text}
            onChange={setText}
          />
          <span className="muted">{same ? 'Newest runs of the same benchmark' : text === '' ? 'Newest runs' : ''}</span>
          {onClose && <IconButton icon="close" label="Done" onClick={onClose} />}
        </div>
        {error && <p role="alert">{error.message}</p>}
        <ul className={styles.list}>
          {offered?.map((run) => (
            <li key={run.id}>
              <button type="button" className={styles.run} onClick={() => onAdd(run.id)}>
                <span className="hidden-text">Add</span>
                <span className={styles.model}>
                  <ModelName model={run.model} short />
                </span>
                <bdi className={styles.name}>{runName(run)}</bdi>
                <bdi className={styles.benchmark}>{run.benchmark_title || run.benchmark}</bdi>
                <span className={styles.score}>
                  <Score metric={run.primary} going={run.state === 'running'} /> <Unfinished run={run} />
                </span>
                <span className={styles.when}>
                  <When at={run.created_at} />
                </span>
              </button>
            </li>
          ))}
        </ul>
        {offered?.length === 0 && (
          <p className="muted">{text === '' ? 'There are no other runs to compare with yet.' : 'No matching runs.'}</p>
        )}
      </div>
    </Panel>
  )
}
