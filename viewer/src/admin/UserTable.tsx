import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { UserActions } from './UserActions'
import type { Made } from './UsersView'

/** People with an account. */
export function UserTable({
  users,
  onPassword,
}: {
  users: readonly Schema<'UserRow'>[]
  onPassword: (made: Made) => void
}) {
  return (
    <PlainTable label="Table of users">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" data-numeric data-minor>
            ID
          </th>
          <th scope="col">Role</th>
          <th scope="col">Last active</th>
          <th scope="col" data-minor>
            Created
          </th>
          <th scope="col">
            <span className="hidden-text">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <tr key={user.id}>
            <th scope="row">
              <bdi>{user.username}</bdi> {user.disabled && <Badge tone="warn">disabled</Badge>}{' '}
              {user.oidc && <Badge title="Signs in with an identity provider">SSO</Badge>}
            </th>
            <td data-numeric data-minor>
              {user.id}
            </td>
            <td>{user.role === 'admin' ? 'administrator' : 'member'}</td>
            <td data-breaks>{user.last_login_at ? <When at={user.last_login_at} /> : 'never'}</td>
            <td data-minor>
              <When at={user.created_at} />
            </td>
            <td data-numeric>
              <UserActions user={user} onPassword={onPassword} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
