import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { LOOK_AGAIN } from '../gallery/useGallery'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { RunTable } from '../runlist/RunTable'
import { DomainActions } from './DomainActions'
import { LeaderboardTable } from './LeaderboardTable'
import { OfficialBoard } from './OfficialBoard'
import { VowPanel } from './VowPanel'

/** A domain: what it is about, what it promises, who is good at it. */
export function DomainPage() {
  const { domainId } = useParams({ from: '/domains/$domainId' })
  const domain = useDocument('/api/domains/{domain_id}', { params: { domain_id: domainId } })
  if (domain.data) return <DomainView domain={domain.data} />
  return (
    <Page title="Domain" trail={<Link to="/domains">Leaderboards</Link>}>
      <Loaded query={domain} title="This domain could not be loaded">
        {() => null}
      </Loaded>
    </Page>
  )
}

function DomainView({ domain }: { domain: Schema<'Domain'> }) {
  const runnable = domain.status === 'published'
  return (
    <Page
      title={domain.name}
      heading={<bdi>{domain.name}</bdi>}
      trail={<Link to="/domains">Leaderboards</Link>}
      aside={
        <>
          {!runnable && <Badge tone="warn">{domain.status}</Badge>}
          {domain.tags?.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
        </>
      }
      note={domain.detail || undefined}
      actions={
        <>
          {runnable && (
            <LinkButton to="/new-run" search={{ domain: domain.id }} look="primary" icon="play">
              New run
            </LinkButton>
          )}
          <DomainActions domain={domain} />
        </>
      }
    >
      <OfficialBoard domain={domain} />
      <Board domain={domain} />
      <div className={styles.columns}>
        <NewestRuns domainId={domain.id} />
        <VowPanel domain={domain} />
      </div>
    </Page>
  )
}

function Board({ domain }: { domain: Schema<'Domain'> }) {
  const params = { domain_id: domain.id }
  const entries = useQuery({
    ...documentQuery('/api/leaderboards/{domain_id}', { params }),
    refetchInterval: LOOK_AGAIN,
  })
  return (
    <Panel title="Leaderboard" note={boardWords(entries.data)} flush>
      <Loaded query={entries} title="The leaderboard could not be loaded">
        {(found) =>
          found.length > 0 ? (
            <LeaderboardTable label="Ranking" entries={found} version={domain.binding_vow.version} />
          ) : (
            <Empty title="No entries yet">The first public run that finishes becomes the first entry.</Empty>
          )
        }
      </Loaded>
    </Panel>
  )
}

function NewestRuns({ domainId }: { domainId: string }) {
  const runs = useQuery({
    ...documentQuery('/api/runs', { query: { benchmark: [domainId], tests: false, limit: 20 } }),
    refetchInterval: LOOK_AGAIN,
  })
  return (
    <Panel title="Newest runs" note="public runs, your own and those of your teams" flush>
      <Loaded query={runs} title="The runs could not be loaded">
        {({ items }) =>
          items.length > 0 ? (
            <RunTable label="Table of runs" runs={items} hide={['domain']} />
          ) : (
            <Empty title="No runs yet" />
          )
        }
      </Loaded>
    </Panel>
  )
}

function boardWords(entries: readonly Schema<'LeaderboardEntry'>[] | undefined): string {
  const words = 'finished public runs, grouped by model and agent'
  if (!entries || entries.length === 0) return words
  const episodes = entries.reduce((sum, one) => sum + one.n_scored, 0)
  return `${plural(episodes, 'episode')} in ${plural(entries.length, 'entry', 'entries')}: ${words}`
}
