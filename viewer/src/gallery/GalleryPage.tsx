import { DomainList } from '../domain/DomainList'
import { useDomains } from '../domain/useDomains'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Listed } from '../parts/Listed'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { GalleryTable } from './GalleryTable'
import { useGallery } from './useGallery'

const DOMAINS_SHOWN = 6

/** What people show to everybody: the start page of those who are not signed in. */
export function GalleryPage() {
  const me = useMe()
  const domains = useDomains()
  const runs = useGallery()
  const count = domains.items?.length ?? 0
  return (
    <Page title="Gallery" note={me?.type === 'anonymous' ? undefined : 'Public domains and runs.'}>
      {me?.type === 'anonymous' && <Intro />}
      <section className={styles.stack} aria-labelledby="domains">
        <div className={styles.actions}>
          <h2 id="domains">Domains</h2>
          {count > DOMAINS_SHOWN && (
            <LinkButton to="/domains" look="quiet">
              All {domains.more ? '' : count}
            </LinkButton>
          )}
        </div>
        <Listed pages={{ ...domains, more: false }} title="The domains could not be loaded">
          {(found) =>
            found.length > 0 ? (
              <DomainList domains={found.slice(0, DOMAINS_SHOWN)} />
            ) : (
              <Empty title="No domains yet">A domain appears here when a submitted environment has been built.</Empty>
            )
          }
        </Listed>
      </section>
      <Panel title="Public runs" note="prompts and reasoning stay hidden" flush>
        <Listed pages={runs} title="The runs could not be loaded">
          {(found) =>
            found.length > 0 ? (
              <GalleryTable runs={found} />
            ) : (
              <Empty title="No public runs yet">Public runs appear here once they have completed.</Empty>
            )
          }
        </Listed>
      </Panel>
    </Page>
  )
}

function Intro() {
  return (
    <section className={styles.intro} aria-label="About">
      <h2>Which model plays best?</h2>
      <p>
        Environments are submitted as Git repositories, models play episodes in them, and every step is recorded. Browse
        runs and leaderboards here, or sign in to start your own.
      </p>
      <div className={styles.actions}>
        <LinkButton to="/sign-in" look="primary">
          Sign in
        </LinkButton>
        <LinkButton to="/domains">Leaderboards</LinkButton>
      </div>
    </section>
  )
}
