import { usePlatform } from '../api/platform'
import { DomainList } from '../domain/DomainList'
import { Empty } from '../parts/Empty'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { LinkButton } from '../platform/LinkButton'
import { Loaded } from '../platform/Loaded'
import styles from '../platform/platform.module.css'
import { useMe } from '../session/useMe'
import { GalleryTable } from './GalleryTable'

const DOMAINS_SHOWN = 6

/** What people show to everybody: the start page of those who are not signed in. */
export function GalleryPage() {
  const me = useMe()
  const domains = usePlatform('/v1/domains')
  const runs = usePlatform('/v1/gallery/runs', { query: { limit: 50 } })
  return (
    <Page title="Gallery" note={me?.type === 'anonymous' ? undefined : 'Public domains and runs.'}>
      {me?.type === 'anonymous' && <Intro />}
      <section className={styles.stack} aria-labelledby="domains">
        <div className={styles.actions}>
          <h2 id="domains">Domains</h2>
          {(domains.data?.length ?? 0) > DOMAINS_SHOWN && (
            <LinkButton to="/domains" look="quiet">
              All {domains.data?.length}
            </LinkButton>
          )}
        </div>
        <Loaded query={domains} title="The domains could not be read">
          {(found) =>
            found.length > 0 ? (
              <DomainList domains={found.slice(0, DOMAINS_SHOWN)} />
            ) : (
              <Empty title="No domains yet">
                The first environment that somebody submits, and that can be built, makes the first one.
              </Empty>
            )
          }
        </Loaded>
      </section>
      <Panel title="Public runs" note="prompts and reasoning stay hidden" flush>
        <Loaded query={runs} title="The runs could not be read">
          {(found) =>
            found.length > 0 ? (
              <GalleryTable runs={found} />
            ) : (
              <Empty title="Nobody has shown a run yet">
                A run that is public stands here, for everybody, once it has completed.
              </Empty>
            )
          }
        </Loaded>
      </Panel>
    </Page>
  )
}

function Intro() {
  return (
    <section className={styles.intro} aria-label="About">
      <h2>Which model plays best?</h2>
      <p>
        People submit environments; models play episodes in them; every step is recorded. Look at the runs and
        leaderboards here, or sign in to start your own.
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
