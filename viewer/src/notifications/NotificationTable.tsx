import { useState } from 'react'
import { del, post } from '../api/client'
import type { Schema } from '../api/types'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu } from '../parts/Menu'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { DeliveryBadge } from './DeliveryBadge'

type Notification = Schema<'NotificationDocument'>

/** The notifications of a workspace. */
interface NotificationTableProps {
  workspaceId: string
  notifications: readonly Notification[]
  /** Show the messages of one. */
  onShow: (notification: Notification) => void
}

/** Notifications by name, and how the newest message of each went. */
export function NotificationTable({ workspaceId, notifications, onShow }: NotificationTableProps) {
  const [doomed, setDoomed] = useState<Notification>()
  const params = ({ id }: Notification) => ({ workspace: workspaceId, notification: id })
  const remove = useChange(
    (one: Notification) => del('/api/workspaces/{workspace}/notifications/{notification}', { params: params(one) }),
    { done: `Removed ${doomed?.name}.`, after: () => setDoomed(undefined) },
  )
  const test = useChange(
    async (one: Notification) => {
      await post('/api/workspaces/{workspace}/notifications/{notification}/test', { params: params(one) })
      return one
    },
    { done: 'A test message is on its way.', after: onShow },
  )
  return (
    <>
      <PlainTable label="Table of notifications">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" data-minor>
              To
            </th>
            <th scope="col">Tells</th>
            <th scope="col">Last message</th>
            <th scope="col">
              <span className="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {notifications.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <bdi>{one.name}</bdi>
              </th>
              <td data-minor>
                {one.host} ({one.format})
              </td>
              <td>{one.events.join(', ')}</td>
              <td>
                {one.last ? (
                  <>
                    <DeliveryBadge message={one.last} /> <When at={one.last.created_at} />
                  </>
                ) : (
                  <span className="muted">none</span>
                )}
              </td>
              <td data-numeric>
                <Menu
                  label={`Change ${one.name}`}
                  icon="menu"
                  small
                  items={[
                    { label: 'Send a test', disabled: test.isPending, onChoose: () => test.mutate(one) },
                    { label: 'Show its messages', onChoose: () => onShow(one) },
                    { label: 'Remove…', danger: true, onChoose: () => setDoomed(one) },
                  ]}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      <ConfirmDialog
        open={doomed !== undefined}
        title={`Remove ${doomed?.name}?`}
        confirm="Remove notification"
        danger
        busy={remove.isPending}
        onConfirm={() => doomed && remove.mutate(doomed)}
        onClose={() => setDoomed(undefined)}
      >
        <p>Messages that are not sent yet are dropped.</p>
      </ConfirmDialog>
    </>
  )
}
