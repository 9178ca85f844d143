import type { Ref } from 'react'
import { count, percent } from '../format'
import { Button } from '../parts/Button'
import { IconButton } from '../parts/IconButton'
import { MultiSelect } from '../parts/MultiSelect'
import { SearchField } from '../parts/SearchField'
import { kindName } from './labels'
import styles from './page.module.css'
import { type EpisodeSearch, type EpisodeView, KINDS, type Kind } from './search'
import type { Hits } from './useHits'

interface ToolbarProps {
  ref?: Ref<HTMLDivElement>
  view: EpisodeView
  /** Whether there is a conversation of one turn to show. */
  oneTurn: boolean
  search: EpisodeSearch
  change: (part: Partial<EpisodeSearch>) => void
  step: number
  lastStep: number
  toStep: (step: number) => void
  hits: Hits
  hitAt: number
  toHit: (at: number) => void
  /** Whether to stay at the newest step; nothing when the episode does not grow. */
  follow?: boolean
  onFollow: (follow: boolean) => void
}

/** What stays in sight while one reads: which step, which view, what is looked for. */
export function Toolbar({
  ref,
  view,
  oneTurn,
  search,
  change,
  step,
  lastStep,
  toStep,
  hits,
  hitAt,
  toHit,
  follow,
  onFollow,
}: ToolbarProps) {
  return (
    <div ref={ref} className={styles.toolbar} data-toolbar>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form */}
      <div className={styles.switch} role="group" aria-label="View">
        {oneTurn && (
          <Button
            look="quiet"
            aria-pressed={view === 'conversation'}
            onClick={() => change({ view: 'conversation', step: undefined })}
          >
            Conversation
          </Button>
        )}
        <Button look="quiet" aria-pressed={view === 'timeline'} onClick={() => change({ view: 'timeline', step })}>
          Timeline
        </Button>
        <Button
          look="quiet"
          icon="play"
          aria-pressed={view === 'replay'}
          onClick={() => change({ view: 'replay', step })}
        >
          Replay
        </Button>
      </div>
      {follow !== undefined && (
        <Button icon="arrowDown" aria-pressed={follow} onClick={() => onFollow(!follow)}>
          {follow ? 'Following' : 'Follow'}
        </Button>
      )}
      {view === 'timeline' && (
        <>
          <StepPlace step={step} lastStep={lastStep} toStep={toStep} />
          <SearchField
            label="Search in this episode"
            placeholder="Search events…"
            value={search.q ?? ''}
            onChange={(q) => change({ q: q || undefined })}
            page
          />
          {search.q && <HitPlace hits={hits} hitAt={hitAt} toHit={toHit} />}
          <MultiSelect
            label="Event types"
            options={KINDS.map((kind) => ({ value: kind, label: kindName(kind) }))}
            selected={search.kind ?? []}
            onChange={(kind) => change({ kind: kind.length ? (kind as Kind[]) : undefined })}
          />
        </>
      )}
    </div>
  )
}

/** Which step one looks at, and the ways to its neighbours. */
function StepPlace({ step, lastStep, toStep }: Pick<ToolbarProps, 'step' | 'lastStep' | 'toStep'>) {
  return (
    <span className={styles.place}>
      <IconButton icon="chevronUp" label="Previous step (k)" disabled={step <= 0} onClick={() => toStep(step - 1)} />
      <span className="number">
        Step {count(step)} <span className="muted">of {count(lastStep)}</span>
      </span>
      <IconButton
        icon="chevronDown"
        label="Next step (j)"
        disabled={step >= lastStep}
        onClick={() => toStep(step + 1)}
      />
    </span>
  )
}

/** Which hit of the search one looks at, and the ways to the others. */
function HitPlace({ hits, hitAt, toHit }: Pick<ToolbarProps, 'hits' | 'hitAt' | 'toHit'>) {
  return (
    <span className={styles.hits} role="status">
      <span className="number">{told(hits, hitAt)}</span>
      <IconButton
        icon="arrowUp"
        label="Previous hit (p)"
        disabled={!hits.items.length}
        onClick={() => toHit(hitAt - 1)}
      />
      <IconButton
        icon="arrowDown"
        label="Next hit (n)"
        disabled={!hits.items.length}
        onClick={() => toHit(hitAt + 1)}
      />
    </span>
  )
}

function told(hits: Hits, at: number): string {
  if (hits.error) return 'Search failed'
  const found = `${count(hits.items.length)}${hits.many ? '+' : ''}`
  if (!hits.done) return `${found} so far, ${percent(hits.total ? hits.searched / hits.total : 0)} searched`
  if (!hits.items.length) return 'no matches'
  return at >= 0 ? `${at + 1} of ${found}` : `${found} found`
}
