import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from './OfWorkspaces.module.css'

/** A page with something of every workspace. */
interface OfWorkspacesProps {
  title: string
  note: string
  head: ReactNode
  /** The part of a workspace: a `WorkspaceRows`. */
  rows: (workspace: Schema<'WorkspaceDocument'>) => ReactNode
}

/** One table over all of one's workspaces, a part for each. */
export function OfWorkspaces({ title, note, head, rows }: OfWorkspacesProps) {
  const workspaces = useDocument('/api/workspaces')
  return (
    <Page title={title} note={note} actions={<LinkButton to="/workspaces">Workspaces</LinkButton>}>
      <Loaded query={workspaces} title="Your workspaces could not be loaded" height="20rem">
        {(found) =>
          found.length === 0 ? (
            <Empty title="You are not in a workspace yet">
              <p>A workspace holds rollouts and datasets. Create one, or ask an admin of another to add you.</p>
              <LinkButton to="/workspaces" look="primary">
                Create a workspace
              </LinkButton>
            </Empty>
          ) : (
            <Panel flush>
              <PlainTable label={`Table of ${title.toLowerCase()}`}>
                {head}
                {found.map((workspace) => rows(workspace))}
              </PlainTable>
            </Panel>
          )
        }
      </Loaded>
    </Page>
  )
}

interface WorkspaceRowsProps {
  workspace: Schema<'WorkspaceDocument'>
  to: '/workspaces/$workspaceId/rollouts' | '/workspaces/$workspaceId/datasets'
  columns: number
  /** What is said in place of rows. */
  words?: string
  note?: string
  children?: ReactNode
}

/** The part of a workspace in the table: its name, and rows or why there are none. */
export function WorkspaceRows({ workspace, to, columns, words = '', note = '', children }: WorkspaceRowsProps) {
  return (
    <tbody className={styles.part}>
      <tr>
        <th scope="rowgroup" colSpan={columns} className={styles.name}>
          <Link to={to} params={{ workspaceId: workspace.id }}>
            <bdi>{workspace.name}</bdi>
          </Link>{' '}
          {note && <span className="muted">{note}</span>}
        </th>
      </tr>
      {words === '' ? (
        children
      ) : (
        <tr>
          <td colSpan={columns} className="muted" data-breaks>
            {words}
          </td>
        </tr>
      )}
    </tbody>
  )
}
