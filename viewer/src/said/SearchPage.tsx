import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Page } from '../parts/Page'
import { SearchField } from '../parts/SearchField'
import { SYNTAX } from './place'
import { SaidHead, SaidList } from './SaidList'
import styles from './said.module.css'
import type { SaidSearch } from './search'
import { useSaid } from './useSaid'

/** What was said in all runs, or in those of a filter. */
export function SearchPage() {
  const search = useSearch({ from: '/search' })
  const navigate = useNavigate({ from: '/search' })
  const change = (next: SaidSearch) => void navigate({ search: next, replace: true, resetScroll: false })
  const { q = '', ...filter } = search
  const said = useSaid(q, { filter })
  const onText = (text: string) => change({ ...search, q: text === '' ? undefined : text })
  const filters = [...(search.benchmark ?? []), ...(search.model ?? []), ...(search.tag ?? [])]
  return (
    <Page title="Search" trail={<Link to="/">Runs</Link>}>
      <div className={styles.said}>
        <div className={styles.head}>
          <div className={styles.field}>
            <SearchField page label="What was said" placeholder="Search what was said…" value={q} onChange={onText} />
          </div>
          {filters.length > 0 && (
            <Button icon="close" look="quiet" onClick={() => change({ q: search.q })} data-tip="Search all runs">
              only {filters.join(', ')}
            </Button>
          )}
        </div>
        {q === '' ? (
          <Empty title="Find what was said in any run">
            Replies, reasoning, tool calls and results, observations and questions. One can write <code>{SYNTAX}</code>.
          </Empty>
        ) : (
          <>
            <SaidHead said={said} text={q} onText={onText} whole="of all" />
            <SaidList said={said} text={q} runs />
          </>
        )}
      </div>
    </Page>
  )
}
