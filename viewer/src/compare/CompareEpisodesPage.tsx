/** Two episodes of a task side by side, opened where they part ways. */

import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { useEpisode } from '../episode/useEpisode'
import { count } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { Icon } from '../parts/Icon'
import { Key } from '../parts/Key'
import { Page } from '../parts/Page'
import { Skeleton } from '../parts/Skeleton'
import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'
import { KeyLine } from '../runs/KeyLine'
import { compareQuery } from './compareQuery'
import { AlignedSteps } from './episodes/AlignedSteps'
import { EndStates } from './episodes/EndStates'
import { EqualTasks } from './episodes/EqualTasks'
import styles from './episodes/episodes.module.css'
import { Flip } from './episodes/Flip'
import { PairStrip } from './episodes/PairStrip'
import {
  type EpisodePair,
  firstRow,
  flipsOf,
  isOneReply,
  namesOf,
  nextDifference,
  outcomeWords,
  taskName,
} from './episodes/pair'
import { StepPanel } from './episodes/StepPanel'
import type { CompareEpisodesSearch } from './search'

type Episode = Schema<'EpisodeDetail'>

const KEYS = [
  [['ArrowLeft', 'ArrowRight'], 'step'],
  [['d'], 'next difference'],
  [['n'], 'next flip'],
  [['x'], 'explain this flip'],
  [['s'], 'swap sides'],
  [['o'], 'only differences'],
] as const

export function CompareEpisodesPage() {
  const search: CompareEpisodesSearch = useSearch({ from: '/compare/episodes' })
  const a = useEpisode(search.a ?? '')
  const b = useEpisode(search.b ?? '')
  const pair = useQueryOfPair(search)
  if (!search.a || !search.b) {
    return (
      <Page title="Two episodes">
        <Empty title="Select two episodes">
          Compare two runs and choose a task, or an episode and another one of its task. They open here side by side.
        </Empty>
      </Page>
    )
  }
  const error = a.error ?? b.error ?? pair.error
  if (!a.data || !b.data || !pair.data) {
    return (
      <Page title="Two episodes" trail={<Link to="/compare">Compare</Link>}>
        {error ? <Failure error={error} title="The episodes could not be compared" /> : <Skeleton height="24rem" />}
      </Page>
    )
  }
  return <PairView key={`${a.data.id} ${b.data.id}`} a={a.data} b={b.data} pair={pair.data} search={search} />
}

function useQueryOfPair({ a = '', b = '' }: CompareEpisodesSearch) {
  return useDocument('/api/episodes/{episode_id}/against/{other_id}', { params: { episode_id: a, other_id: b } })
}

interface PairViewProps {
  a: Episode
  b: Episode
  pair: EpisodePair
  search: CompareEpisodesSearch
}

function PairView({ a, b, pair, search }: PairViewProps) {
  const navigate = useNavigate({ from: '/compare/episodes' })
  const flip = useRef<HTMLElement>(null)
  const names = namesOf(a, b)
  const { found, flips, at } = useFlips(a, b)
  const first = firstRow(pair)
  const row = Math.min(search.step ?? Math.max(first, 0), Math.max(pair.steps.length - 1, 0))
  const only = search.only ?? false
  const change = (part: Partial<CompareEpisodesSearch>) =>
    void navigate({ search: (now) => ({ ...now, ...part }), replace: true, resetScroll: false })
  const onRow = (step: number) => change({ step })
  const swap = () => change({ a: b.id, b: a.id })
  const next = flips[(at + 1) % Math.max(flips.length, 1)]
  const toNext = () => {
    if (next !== undefined) void navigate({ search: { a: next.a, b: next.b, only: search.only } })
  }
  const difference = nextDifference(pair.steps, row, 1) ?? nextDifference(pair.steps, -1, 1)
  const explain = () => {
    onRow(first)
    flip.current?.focus()
  }
  const group = { group: 'Two episodes' }
  const stepping = { ...group, enabled: pair.steps.length > 0 }
  const step = (by: 1 | -1) => {
    const next = only ? nextDifference(pair.steps, row, by) : row + by
    if (next !== null && next >= 0 && next < pair.steps.length) onRow(next)
  }
  useShortcut('ArrowRight', 'Next step', () => step(1), stepping)
  useShortcut('ArrowLeft', 'Previous step', () => step(-1), stepping)
  useShortcut('d', 'Next difference', () => difference !== null && onRow(difference), stepping)
  useShortcut('n', 'Next flip', toNext, { ...group, enabled: next !== undefined })
  useShortcut('x', 'Explain this flip', explain, stepping)
  useShortcut('s', 'Swap sides', swap, group)
  useShortcut('o', 'Only differences', () => change({ only: only ? undefined : true }), stepping)
  const same = pair.finding !== 'other_task'
  const title = same
    ? `${brief(taskName(a.task_id), 60)}: ${outcomeWords(names, a, b)}`
    : 'Two episodes of different tasks'
  const apart = a.run_id !== b.run_id
  const props = { pair, a, b, names }
  return (
    <Page
      title={title}
      heading={<Marked text={title} />}
      trail={
        <nav aria-label="Breadcrumb">
          <Link to="/compare">Compare</Link> ›{' '}
          {apart ? (
            <Link to="/compare" search={{ run: [a.run_id, b.run_id] }}>
              <Marked text={brief(`${a.run.title.benchmark}: ${names.join(', ')}`, 100)} />
            </Link>
          ) : (
            <Link to="/runs/$runId" params={{ runId: a.run_id }}>
              <Marked text={brief(a.run.name || `${a.run.title.benchmark} · ${a.run.title.model}`, 100)} />
            </Link>
          )}
        </nav>
      }
      actions={
        <>
          {flips.length > 0 && (
            <span className="muted">
              {at >= 0 ? `${count(at + 1)} of ${count(flips.length)} flips` : `${count(flips.length)} flips`}
            </span>
          )}
          <Button icon="compare" onClick={swap}>
            Swap <Key keys="s" />
          </Button>
          {next !== undefined && (
            <Button look="primary" onClick={toNext}>
              Next flip <Icon name="chevronRight" size={13} /> <Key keys="n" />
            </Button>
          )}
        </>
      }
    >
      {same && <PairStrip a={a} b={b} names={names} />}
      {!same && <Apart words={pair.words} a={a} b={b} />}
      {same && (
        <div className={styles.columns}>
          <div className={styles.main}>
            <StepPanel {...props} row={row} onRow={onRow} />
            {!isOneReply(pair) && (
              <AlignedSteps
                {...props}
                row={row}
                only={only}
                onRow={onRow}
                onOnly={(next) => change({ only: next || undefined })}
              />
            )}
          </div>
          <aside className={styles.main} aria-label="Both in short">
            <Flip ref={flip} {...props} />
            <EndStates {...props} />
            {found !== null && <EqualTasks {...found} a={a} b={b} names={names} />}
          </aside>
        </div>
      )}
      {same && (
        <div className={styles.foot}>
          <KeyLine keys={KEYS} legend={false} />
          <p aria-hidden="true">
            <span className={styles.onlyA}>only in A</span> <span className={styles.onlyB}>only in B</span>
          </p>
        </div>
      )}
    </Page>
  )
}

/** Episodes that have nothing to be compared: what they are, and the way to each. */
function Apart({ words, a, b }: { words: string; a: Episode; b: Episode }) {
  return (
    <Empty title={words}>
      {[a, b].map((episode) => (
        <span key={episode.id} className={styles.apart}>
          <Link to="/episodes/$episodeId" params={{ episodeId: episode.id }}>
            <Marked text={brief(taskName(episode.task_id), 80)} />
          </Link>{' '}
          <Marked text={`${episode.run.title.model}, ${episode.run.benchmark_title || episode.run.benchmark}`} />
        </span>
      ))}
    </Empty>
  )
}

/** Both runs in their primary metric, and the tasks that flipped between them. */
function useFlips(a: Episode, b: Episode) {
  const { data } = useQuery({
    ...compareQuery({ run: [a.run_id, b.run_id] }),
    enabled: a.run_id !== b.run_id,
    retry: false,
    staleTime: 60_000,
  })
  const benchmark = data?.benchmarks.find(({ pairs }) => pairs.length > 0)
  const pair = benchmark?.pairs[0]
  const { flips, at } = flipsOf(pair?.tasks ?? [], a.task_digest)
  return { found: benchmark !== undefined && pair !== undefined ? { benchmark, pair } : null, flips, at }
}
