import { useNavigate, useSearch } from '@tanstack/react-router'
import { get } from '../api/client'
import { useDocument } from '../api/query'
import { CatalogueNav } from '../benchmarks/CatalogueNav'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Listed } from '../parts/Listed'
import { Page } from '../parts/Page'
import { Select } from '../parts/Select'
import { usePages } from '../parts/usePages'
import { EnvironmentList } from './EnvironmentList'
import { building } from './stages'

const OWN = 'own'
const PAGE = 60
const LOOK_AGAIN = 3_000

/** What one submitted, and what one's teams did. */
export function EnvironmentsPage() {
  const { team } = useSearch({ from: '/environments' })
  const navigate = useNavigate({ from: '/environments' })
  const teams = useDocument('/api/teams')
  const query = team ? ({ scope: 'team', team_id: team } as const) : ({ scope: 'solo' } as const)
  const environments = usePages({
    key: ['/api/environments', query],
    read: (cursor, signal) => get('/api/environments', { query: { ...query, limit: PAGE, cursor }, signal }),
    cursorOf: (last) => last.id,
    size: PAGE,
    again: (found) => (found.some((one) => building(one.status)) ? LOOK_AGAIN : false),
  })
  const whose = [
    { value: OWN, label: 'Mine' },
    ...(teams.data ?? []).map((one) => ({ value: one.team_id, label: one.name })),
  ]
  return (
    <Page
      title="Environments"
      note="Submitted environments are cloned, checked, built and tested. Then models can be run in them."
      actions={
        <>
          {whose.length > 1 && (
            <Select
              label="Whose environments"
              hideLabel
              options={whose}
              value={team ?? OWN}
              onChange={(value) => void navigate({ search: value === OWN ? {} : { team: value } })}
            />
          )}
          <LinkButton to="/environments/new" look="primary" icon="plus">
            Submit
          </LinkButton>
        </>
      }
    >
      <CatalogueNav />
      <Listed pages={environments} title="The environments could not be loaded">
        {(found) => (found.length > 0 ? <EnvironmentList environments={found} /> : <NoEnvironments />)}
      </Listed>
    </Page>
  )
}

function NoEnvironments() {
  return (
    <Empty title="No environments yet" command="mesocosm init && mesocosm env submit --name NAME --github-url URL">
      An environment is a Git repository with a <code>benchanything.json</code>. Create one on your machine, test it,
      push it, and submit its URL here or in the terminal.
    </Empty>
  )
}
