import { Link } from '@tanstack/react-router'
import { SubNav } from '../parts/SubNav'
import { place } from '../place'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

/** What can be run on a server: benchmarks, and environments that people submitted, with their public boards. */
export function CatalogueNav() {
  const member = isMember(useMe())
  if (place.mode !== 'server' || !member) return null
  const options = { exact: true, includeSearch: false }
  return (
    <SubNav label="What can be run">
      <Link to="/benchmarks" activeOptions={options}>
        Benchmarks
      </Link>
      <Link to="/environments" activeOptions={options}>
        Environments
      </Link>
      <Link to="/domains" activeOptions={options}>
        Leaderboards
      </Link>
    </SubNav>
  )
}
