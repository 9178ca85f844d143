/** The episodes that say something: the list with its scopes and outcome. */
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { count } from '../format'
import type { Column } from '../parts/column'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { useNarrow } from '../parts/useNarrow'
import { Verdict } from '../parts/Verdict'
import { VirtualTable } from '../parts/VirtualTable'
import { useRoomBelow } from '../run/useRoomBelow'
import { runName } from '../runs/runName'
import { Outcome } from './Outcome'
import { Places } from './Places'
import { type Hit, SYNTAX, wordsOf } from './place'
import { Snippet } from './Snippet'
import styles from './said.module.css'
import type { Said } from './useSaid'

interface SaidHeadProps {
  said: Said
  text: string
  onText: (text: string) => void
  /** What all searched episodes are called after their accuracy: “run 0.347”. */
  whole: string
}

interface SaidListProps {
  said: Said
  text: string
  /** Whether the hits are of several runs. */
  runs?: boolean
}

/** Letters before the first mark: it has to be in sight. */
const LEAD = 36
const NARROW_LEAD = 14

/** Where it was said, and how those episodes ended. */
export function SaidHead({ said, text, onText, whole }: SaidHeadProps) {
  const { first, error } = said
  if (first === undefined || error !== null) return null
  return (
    <div className={styles.head}>
      <Places text={text} counts={first.places ?? {}} onText={onText} />
      <Outcome page={first} whole={whole} />
    </div>
  )
}

export function SaidList({ said, text, runs = false }: SaidListProps) {
  const place = useRef<HTMLDivElement>(null)
  const maxHeight = useRoomBelow(place, '20rem')
  const narrow = useNarrow()
  const navigate = useNavigate()
  const find = wordsOf(text)
  const columns = useMemo(() => (narrow ? narrowColumns(runs, find) : wideColumns(runs, find)), [narrow, runs, find])
  const { first, hits, error } = said
  const open = (hit: Hit) =>
    void navigate({ to: '/episodes/$episodeId', params: { episodeId: hit.episode_id }, search: hitSearch(hit, find) })
  if (error !== null)
    return <Failure error={error} title="This cannot be searched for" onRetry={() => said.refetch()} />
  return (
    <div ref={place} className={styles.list} data-stale={said.isPlaceholderData || undefined}>
      <VirtualTable
        label="Episodes that say this"
        columns={columns}
        count={first === undefined ? 8 : hits.length}
        getRow={(index) => hits[index]}
        rowKey={(hit) => hit.episode_id}
        rowHeight={narrow ? (runs ? 80 : 60) : 48}
        headHeight={32}
        maxHeight={maxHeight}
        onOpen={open}
        onMore={() => {
          if (said.hasNextPage && !said.isFetchingNextPage) void said.fetchNextPage()
        }}
        empty={<Nothing complete={first?.complete ?? true} />}
        shortcuts
      />
    </div>
  )
}

function Nothing({ complete }: { complete: boolean }) {
  return (
    <Empty title={complete ? 'Nobody said this' : 'Nothing was found in the time that a search has'}>
      Words are whole: <code>refus*</code> also finds “refused”. One can write <code>{SYNTAX}</code>.
    </Empty>
  )
}

function wideColumns(runs: boolean, find: string): Column<Hit>[] {
  return [
    {
      key: 'index',
      header: '#',
      width: 64,
      align: 'end',
      render: (hit) => <span className="muted">{count(hit.index)}</span>,
    },
    {
      key: 'said',
      header: 'Episode',
      width: 320,
      grow: 3,
      render: (hit) => (
        <span className={styles.lines}>
          <span className={styles.line}>
            <EpisodeLink hit={hit} find={find} />
          </span>
          <Snippet hit={hit} lead={runs ? NARROW_LEAD : LEAD} />
        </span>
      ),
    },
    {
      key: 'expected',
      header: 'Expected',
      width: 96,
      align: 'end',
      priority: 5,
      render: (hit) => <strong className={styles.line}>{hit.expected}</strong>,
    },
    {
      key: 'given',
      header: 'Given',
      width: 110,
      align: 'end',
      priority: 4,
      render: (hit) => <bdi className={styles.line}>{hit.given}</bdi>,
    },
    ...(runs ? [runColumn()] : []),
    { key: 'verdict', header: 'Verdict', width: 120, render: (hit) => hit.verdict && <Verdict name={hit.verdict} /> },
    { key: 'step', header: 'Step', width: 64, align: 'end', priority: 3, render: (hit) => count(hit.step) },
  ]
}

function narrowColumns(runs: boolean, find: string): Column<Hit>[] {
  return [
    {
      key: 'said',
      header: 'Episode',
      width: 240,
      grow: 1,
      render: (hit) => (
        <span className={styles.lines}>
          <span className={styles.line}>
            {hit.verdict && <Verdict name={hit.verdict} />} <EpisodeLink hit={hit} find={find} />
          </span>
          {runs && <span className={styles.line}>{runWords(hit)}</span>}
          <Snippet hit={hit} lead={NARROW_LEAD} />
        </span>
      ),
    },
  ]
}

function runColumn(): Column<Hit> {
  return {
    key: 'run',
    header: 'Run',
    width: 200,
    grow: 1,
    priority: 2,
    render: (hit) => (
      <Link to="/runs/$runId" params={{ runId: hit.run_id }} className={styles.line} data-tip={hit.run_id}>
        <bdi>{runWords(hit)}</bdi>
      </Link>
    ),
  }
}

function runWords(hit: Hit): string {
  return hit.run_name.trim() === ''
    ? `${hit.benchmark} · ${hit.model}`
    : runName({ id: hit.run_id, name: hit.run_name })
}

/** The hit in its episode, with what to look for there. */
function hitSearch(hit: Hit, find: string): { step: number; q?: string } {
  return { step: hit.step, q: find || undefined }
}

function EpisodeLink({ hit, find }: { hit: Hit; find: string }) {
  return (
    <Link to="/episodes/$episodeId" params={{ episodeId: hit.episode_id }} search={hitSearch(hit, find)}>
      <bdi>{hit.question || hit.task_id.slice(0, 200) || `#${hit.index}`}</bdi>
    </Link>
  )
}
