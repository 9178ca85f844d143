import { useSearch } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { useMe } from '../session/useMe'
import { LaunchForm } from './LaunchForm'

/** The form for a new run; what a link to it names is chosen already. */
export function NewRunPage() {
  const search = useSearch({ from: '/new-run' })
  const me = useMe()
  const domains = useDocument('/api/domains')
  const models = useDocument('/api/models')
  if (me === undefined) return <PageSkeleton />
  if (me.type === 'anonymous') {
    const next = `/new-run${search.domain ? `?domain=${encodeURIComponent(search.domain)}` : ''}`
    return (
      <Page title="New run">
        <Empty title="Sign in to start a run">
          <p>Members and guests can start runs.</p>
          <LinkButton to="/sign-in" search={{ next }} look="primary">
            Sign in
          </LinkButton>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="New run" note="A model plays episodes in an environment. Watch it live; everything is recorded.">
      <Loaded query={domains} title="The domains could not be loaded" height="30rem">
        {(found) => (
          <Loaded query={models} title="The models could not be loaded" height="30rem">
            {(offered) =>
              found.length > 0 ? (
                <LaunchForm domains={found} models={offered.models} search={search} me={me} />
              ) : (
                <Empty title="No environments yet">
                  <p>A model needs an environment to play in.</p>
                  <LinkButton to="/environments/new" look="primary">
                    Submit an environment
                  </LinkButton>
                </Empty>
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}
