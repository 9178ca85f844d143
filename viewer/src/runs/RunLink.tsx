import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { plural } from '../format'
import { IconButton } from '../parts/IconButton'
import { ImportedBadge } from '../runlist/ImportedBadge'
import { OfficialBadge } from '../runlist/OfficialBadge'
import { clip } from './clip'
import { ListName } from './ListName'
import type { Row } from './page'
import styles from './RunList.module.css'
import { RunState } from './RunState'
import { codeWords, runName } from './runName'

/** The name of a run, which leads to its page; its state where that says something; attempts folded into it. */
export function RunLink({ row, open, onFold }: { row: Row; open: boolean; onFold: (signature: string) => void }) {
  const { run, attempts } = row
  const client = useQueryClient()
  const prepare = () => void client.prefetchQuery(documentQuery('/api/runs/{run_id}', { params: { run_id: run.id } }))
  const named = run.name.trim() !== ''
  const older = plural(attempts.length, 'older attempt')
  return (
    <span className={styles.nameLine} data-nested={row.nested || undefined}>
      {attempts.length > 0 && (
        <IconButton
          icon={open ? 'chevronDown' : 'chevronRight'}
          size="sm"
          label={open ? `Hide ${older}` : `Show ${older}`}
          aria-expanded={open}
          onClick={() => onFold(run.signature)}
        />
      )}
      {named && <bdi className={styles.quiet}>{clip(run.title.benchmark)} ·</bdi>}
      <Link
        to="/runs/$runId"
        params={{ runId: run.id }}
        className={styles.name}
        dir="auto"
        onPointerEnter={prepare}
        onFocus={prepare}
        data-tip={[runName(run), codeWords(run), run.id].filter(Boolean).join('\n')}
      >
        <ListName run={run} />
      </Link>
      {named && <bdi className={styles.quiet}>· {clip(run.title.model)}</bdi>}
      {attempts.length > 0 && <span className={styles.second}>{older}</span>}
      <RunState run={run} />
      <OfficialBadge protocol={run.protocol} />
      <ImportedBadge imported={run.imported} />
    </span>
  )
}
