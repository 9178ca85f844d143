import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { CatalogueNav } from '../benchmarks/CatalogueNav'
import { Empty } from '../parts/Empty'
import { Listed } from '../parts/Listed'
import { Page } from '../parts/Page'
import styles from '../parts/panels.module.css'
import { SearchField } from '../parts/SearchField'
import { DomainList } from './DomainList'
import { matching } from './matching'
import { useDomains } from './useDomains'

/** What can be played, each with its leaderboard. */
export function DomainsPage() {
  const { q = '' } = useSearch({ from: '/domains' })
  const navigate = useNavigate({ from: '/domains' })
  const domains = useDomains()
  const { more, busy, onMore } = domains
  // Who searches searches all of them.
  useEffect(() => {
    if (q !== '' && more && !busy) onMore()
  }, [q, more, busy, onMore])
  return (
    <Page title="Leaderboards" note="Every domain has a leaderboard of its public runs.">
      <CatalogueNav />
      <div className={styles.actions}>
        <SearchField
          page
          label="Search domains"
          placeholder="Name, tag, description…"
          value={q}
          onChange={(value) => void navigate({ search: value ? { q: value } : {}, replace: true })}
        />
      </div>
      <Listed pages={domains} title="The domains could not be loaded">
        {(found) => {
          const shown = matching(found, q)
          if (shown.length > 0) return <DomainList domains={shown} />
          return found.length > 0 ? (
            <Empty title="No domain matches your search">Try a different search.</Empty>
          ) : (
            <Empty title="No domains yet">A domain appears here when a submitted environment has been built.</Empty>
          )
        }}
      </Listed>
    </Page>
  )
}
