import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Secret } from '../account/Secret'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { DeliveryTable } from './DeliveryTable'
import { NotificationForm } from './NotificationForm'
import { NotificationTable } from './NotificationTable'

const LOOK_AGAIN = 1_000
const SOON_MS = 60_000

/** The notifications of a workspace, for those who manage it. */
export function NotificationsPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/notifications' })
  const me = useMe()
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  return (
    <Page
      title={workspace.data ? `Notifications of ${workspace.data.name}` : 'Notifications'}
      heading="Notifications"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="Other programs are told how runs of the workspace end."
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) =>
          mayAs('admin', found, me) ? (
            <NotificationsView workspaceId={workspaceId} />
          ) : (
            <Empty title="Notifications are for admins">
              Admins and owners of the workspace add and see them; your role is {found.role}.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  )
}

function NotificationsView({ workspaceId }: { workspaceId: string }) {
  const [made, setMade] = useState<Schema<'NotificationSecretDocument'>>()
  const [shown, setShown] = useState<string>()
  const notifications = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/notifications', { params: { workspace: workspaceId } }),
    refetchInterval: ({ state }) => (state.data?.some((one) => going(one.last)) ? LOOK_AGAIN : false),
  })
  const current = notifications.data?.find((one) => one.id === shown)
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        <Loaded query={notifications} title="The notifications could not be loaded">
          {(found) =>
            found.length > 0 ? (
              <Panel flush>
                <NotificationTable workspaceId={workspaceId} notifications={found} onShow={({ id }) => setShown(id)} />
              </Panel>
            ) : (
              <Empty title="No notifications yet" command="mesocosm workspace notify add URL">
                Add a webhook of your own, or one of Slack, Mattermost or Discord.
              </Empty>
            )
          }
        </Loaded>
        {current && <Messages workspaceId={workspaceId} notification={current} />}
      </div>
      <Panel title="Add a notification">
        <div className={styles.stack}>
          <NotificationForm workspaceId={workspaceId} onAdded={setMade} />
          {made && (
            <Secret label={`Secret that signs the messages to ${made.notification.name}`} secret={made.secret} />
          )}
        </div>
      </Panel>
    </div>
  )
}

function Messages({
  workspaceId,
  notification,
}: {
  workspaceId: string
  notification: Schema<'NotificationDocument'>
}) {
  const messages = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/notifications/{notification}/deliveries', {
      params: { workspace: workspaceId, notification: notification.id },
    }),
    refetchInterval: ({ state }) => (state.data?.some(going) ? LOOK_AGAIN : false),
  })
  return (
    <Panel title={`Messages to ${notification.name}`} flush>
      <Loaded query={messages} title="The messages could not be loaded">
        {(found) => (found.length > 0 ? <DeliveryTable messages={found} /> : <Empty title="No messages yet" />)}
      </Loaded>
    </Panel>
  )
}

/** Whether a message is being sent, or is about to be. */
function going(message: Schema<'DeliveryDocument'> | null): boolean {
  return message?.status === 'pending' && Date.parse(message.next_at ?? '') < Date.now() + SOON_MS
}
