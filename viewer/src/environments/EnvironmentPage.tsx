import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import styles from '../parts/panels.module.css'
import { SourceLink } from '../parts/SourceLink'
import { When } from '../parts/When'
import { Markdown } from '../renderers/Markdown'
import { BuildPanel } from './BuildPanel'
import { CheckPanel } from './CheckPanel'
import { EnvironmentActions } from './EnvironmentActions'
import { EnvironmentRuns } from './EnvironmentRuns'
import { EnvironmentStatus } from './EnvironmentStatus'
import { building } from './stages'
import { UsagePanel } from './UsagePanel'
import { VersionPanel } from './VersionPanel'

const LOOK_AGAIN = 1_500

/** One environment: how its build goes, what was built, how it is used. */
export function EnvironmentPage() {
  const { environmentId } = useParams({ from: '/environments/$environmentId' })
  const environment = useQuery({
    ...documentQuery('/api/environments/{environment_id}', { params: { environment_id: environmentId } }),
    refetchInterval: ({ state }) => (building(state.data?.status) ? LOOK_AGAIN : false),
  })
  if (environment.data) return <EnvironmentView environment={environment.data} />
  return (
    <Page title="Environment" trail={<Link to="/environments">Environments</Link>}>
      <Loaded query={environment} title="This environment could not be loaded">
        {() => null}
      </Loaded>
    </Page>
  )
}

function EnvironmentView({ environment }: { environment: Schema<'EnvironmentDetail'> }) {
  const domain = environment.domain_id
  return (
    <Page
      title={environment.name}
      heading={<bdi>{environment.name}</bdi>}
      trail={<Link to="/environments">Environments</Link>}
      aside={<EnvironmentStatus status={environment.status} stage={environment.stage} />}
      note={environment.description && <Markdown text={environment.description} links />}
      actions={
        <>
          {domain && environment.ready_version != null && (
            <LinkButton to="/new-run" search={{ domain, environment: environment.id }} look="primary" icon="play">
              New run
            </LinkButton>
          )}
          {domain && (
            <LinkButton to="/domains/$domainId" params={{ domainId: domain }}>
              Leaderboard
            </LinkButton>
          )}
          <EnvironmentActions environment={environment} />
        </>
      }
    >
      <p className={styles.facts}>
        <span>
          <SourceLink source={environment.github_url} />
        </span>
        {environment.ref && <span>at {environment.ref}</span>}
        {environment.folder && <span>in {environment.folder}</span>}
        <span>
          submitted <When at={environment.resubmitted_at ?? environment.created_at} />
        </span>
      </p>
      <div className={styles.columns}>
        <div className={styles.stack}>
          <BuildPanel environment={environment} />
          <EnvironmentRuns environmentId={environment.id} />
        </div>
        <div className={styles.stack}>
          {environment.check && <CheckPanel check={environment.check} />}
          <UsagePanel usage={environment.usage} />
          <VersionPanel environment={environment} />
        </div>
      </div>
    </Page>
  )
}
