import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import type { Made } from './UsersView'
import { useNewUser } from './useNewUser'

/** The form for a new account; a password that is left out is made up and shown once. */
export function AddUser({ onPassword }: { onPassword: (made: Made) => void }) {
  const { form, set, tried, submit, add } = useNewUser(onPassword)
  const fields = add.error instanceof ApiError ? add.error.fields : {}
  return (
    <Form
      onSubmit={submit}
      error={add.error}
      title="The user could not be added"
      actions={
        <Button type="submit" busy={add.isPending}>
          Add user
        </Button>
      }
    >
      <TextField
        label="User name"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={64}
        value={form.username}
        onChange={(username) => set({ username })}
        problem={fields.username ?? (tried && form.username.trim() === '' ? 'Enter a user name.' : undefined)}
      />
      <TextField
        label="Password"
        optional
        hint="Leave empty to generate one; it is shown once."
        type="password"
        autoComplete="new-password"
        value={form.password}
        onChange={(password) => set({ password })}
        problem={fields.password}
      />
      <SelectField
        label="Role"
        value={form.role}
        onChange={(role) => set({ role })}
        options={[
          { value: 'member', label: 'member' },
          { value: 'admin', label: 'administrator: full access' },
        ]}
      />
    </Form>
  )
}
