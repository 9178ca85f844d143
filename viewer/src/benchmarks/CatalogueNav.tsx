import { Link } from '@tanstack/react-router'
import { place } from '../place'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'
import styles from '../workspaces/WorkspaceNav.module.css'

/** What can be run on a server: benchmarks, and environments that people submitted, with their public boards. */
export function CatalogueNav() {
  const member = isMember(useMe())
  if (place.mode !== 'server' || !member) return null
  const options = { exact: true, includeSearch: false }
  return (
    <nav aria-label="What can be run" className={styles.nav}>
      <Link to="/benchmarks" activeOptions={options}>
        Benchmarks
      </Link>
      <Link to="/environments" activeOptions={options}>
        Environments
      </Link>
      <Link to="/domains" activeOptions={options}>
        Leaderboards
      </Link>
    </nav>
  )
}
