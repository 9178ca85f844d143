import { useDocument } from '../api/query'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { CreateWorkspace } from './CreateWorkspace'
import { WorkspaceCard } from './WorkspaceCard'

/** One's workspaces, for administrators all, and a form for another one. */
export function WorkspacesPage() {
  const workspaces = useDocument('/api/workspaces')
  return (
    <Page title="Workspaces" note="Members of a workspace share its rollouts, datasets and secrets, and see its runs.">
      <div className={styles.columns}>
        <Loaded query={workspaces} title="Your workspaces could not be loaded">
          {(found) =>
            found.length === 0 ? (
              <Empty title="You are not in a workspace yet">
                Create a workspace, or ask an admin of another one to add you.
              </Empty>
            ) : (
              <ul className={styles.list}>
                {found.map((workspace) => (
                  <WorkspaceCard key={workspace.id} workspace={workspace} />
                ))}
              </ul>
            )
          }
        </Loaded>
        <Panel title="Create a workspace">
          <CreateWorkspace />
        </Panel>
      </div>
    </Page>
  )
}
