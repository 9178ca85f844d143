import { count, measure, plural } from '../format'
import { IconButton } from '../parts/IconButton'
import { clip } from './clip'
import styles from './GroupHead.module.css'
import type { Head } from './page'
import { agentName } from './ScaleBar'
import type { Standing } from './ToBaseline'

/** What heads the runs of a benchmark. */
interface GroupHeadProps {
  head: Head
  standings: ReadonlyMap<string, Standing>
  onClose: (benchmark: string) => void
}

/** A benchmark, how many of its runs are below, and what its built-in agents reach. */
export function GroupHead({ head, standings, onClose }: GroupHeadProps) {
  return (
    <>
      <IconButton
        icon={head.open ? 'chevronDown' : 'chevronRight'}
        size="sm"
        label={`${head.open ? 'Hide' : 'Show'} runs of ${clip(head.title, 60)}`}
        aria-expanded={head.open}
        onClick={() => onClose(head.benchmark)}
      />
      <bdi className={styles.title}>{clip(head.title)}</bdi>
      <span className={styles.facts}>{facts(head, standings)}</span>
    </>
  )
}

/** `5 runs · floor 0.000 random · ceiling 1.000 oracle, n 100 each`. */
export function facts(head: Head, standings: ReadonlyMap<string, Standing>): string {
  const known = head.runs.flatMap(({ id }) => standings.get(id) ?? [])
  // Of the runs of a group, those with the tasks of the built-in agents say most.
  const best = known.find(({ floor, ceiling }) => floor?.same_tasks || ceiling?.same_tasks)
  const { floor = null, ceiling = null } = best ?? known.find((one) => one.floor ?? one.ceiling) ?? {}
  const bounds = [
    floor && `floor ${measure(floor.value)} ${agentName(floor.model)}`,
    ceiling && `ceiling ${measure(ceiling.value)} ${agentName(ceiling.model)}`,
  ].filter(Boolean)
  const ns = new Set([floor, ceiling].flatMap((bound) => (bound ? [bound.n] : [])))
  const n = ns.size === 1 ? `, n ${count([...ns][0])}${bounds.length > 1 ? ' each' : ''}` : ''
  if (bounds.length > 0) return `${[plural(head.runs.length, 'run'), ...bounds].join(' · ')}${n}`
  return [plural(head.runs.length, 'run'), known.length > 0 && 'no floor or ceiling yet'].filter(Boolean).join(' · ')
}
