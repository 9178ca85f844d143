import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { plural } from '../format'
import { IconButton } from '../parts/IconButton'
import { ImportedBadge } from '../runlist/ImportedBadge'
import { OfficialBadge } from '../runlist/OfficialBadge'
import { ListName } from './ListName'
import type { Row } from './page'
import styles from './RunList.module.css'
import { codeWords, runName, shortId } from './runName'
import { Tags } from './Tags'

/** The name of a run, which leads to its page; its tags; the attempts that are folded into it. */
export function RunLink({ row, open, onFold }: { row: Row; open: boolean; onFold: (signature: string) => void }) {
  const { run, attempts } = row
  const client = useQueryClient()
  const prepare = () => void client.prefetchQuery(documentQuery('/api/runs/{run_id}', { params: { run_id: run.id } }))
  const named = run.name.trim() !== ''
  const older = plural(attempts.length, 'older attempt')
  return (
    <span className={styles.lines} data-nested={row.nested || undefined}>
      <span className={styles.nameLine}>
        {attempts.length > 0 && (
          <IconButton
            icon={open ? 'chevronDown' : 'chevronRight'}
            size="sm"
            label={open ? `Hide ${older}` : `Show ${older}`}
            aria-expanded={open}
            onClick={() => onFold(run.signature)}
          />
        )}
        <Link
          to="/runs/$runId"
          params={{ runId: run.id }}
          className={styles.name}
          dir="auto"
          onPointerEnter={prepare}
          onFocus={prepare}
          data-unnamed={named ? undefined : true}
          title={`${runName(run)}\n${run.id}`}
        >
          <ListName run={run} />
        </Link>
      </span>
      {attempts.length > 0 ? (
        <span className={styles.second}>{older}</span>
      ) : (
        (named || run.tags.length > 0 || run.protocol !== null || run.imported !== null) && (
          <span className={styles.nameLine}>
            <OfficialBadge protocol={run.protocol} />
            <ImportedBadge imported={run.imported} />
            <Tags tags={run.tags} otherwise={codeWords(run) || (named ? shortId(run.id) : '')} />
          </span>
        )
      )}
    </span>
  )
}
