import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { del, patch } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Dialog } from '../parts/Dialog'
import { Menu, type MenuItem } from '../parts/Menu'
import { useChange } from '../parts/useChange'
import { isAdmin } from '../session/person'
import { useMe } from '../session/useMe'
import { budgetOf } from './budget'
import { mayAs } from './roles'

interface WorkspaceProps {
  workspace: Schema<'WorkspaceDocument'>
}

interface FormProps extends WorkspaceProps {
  onDone: () => void
}

/** What can be done with a workspace: each by who may. */
export function WorkspaceActions({ workspace }: WorkspaceProps) {
  const [asked, setAsked] = useState<'rename' | 'budget' | 'leave' | 'delete'>()
  const me = useMe()
  const close = () => setAsked(undefined)
  const items: MenuItem[] = []
  if (mayAs('admin', workspace, me)) items.push({ label: 'Rename…', onChoose: () => setAsked('rename') })
  if (isAdmin(me)) items.push({ label: 'Set the budget…', onChoose: () => setAsked('budget') })
  if (workspace.role !== null && workspace.members > 0)
    items.push({ label: 'Leave…', onChoose: () => setAsked('leave') })
  if (mayAs('owner', workspace, me))
    items.push({ label: 'Delete…', icon: 'trash', danger: true, onChoose: () => setAsked('delete') })
  if (items.length === 0) return null
  return (
    <>
      <Menu label="More" icon="menu" small items={items} />
      <Dialog open={asked === 'rename'} onClose={close} title={`Rename ${workspace.name}`}>
        <RenameForm workspace={workspace} onDone={close} />
      </Dialog>
      <Dialog open={asked === 'budget'} onClose={close} title={`Budget of ${workspace.name}`}>
        <BudgetForm workspace={workspace} onDone={close} />
      </Dialog>
      <LeaveDialog workspace={workspace} open={asked === 'leave'} onClose={close} />
      <DeleteDialog workspace={workspace} open={asked === 'delete'} onClose={close} />
    </>
  )
}

function RenameForm({ workspace, onDone }: FormProps) {
  const [name, setName] = useState(workspace.name)
  const rename = useChange(
    () => patch('/api/workspaces/{workspace}', { params: { workspace: workspace.id }, body: { name: name.trim() } }),
    { silent: true, done: `Renamed to ${name.trim()}.`, after: onDone },
  )
  const told = rename.error instanceof ApiError ? rename.error.fields.name : undefined
  return (
    <Form
      onSubmit={() => rename.mutate(undefined)}
      error={told ? undefined : rename.error}
      title="The workspace could not be renamed"
      actions={
        <Button type="submit" look="primary" busy={rename.isPending} disabled={name.trim() === ''}>
          Rename
        </Button>
      }
    >
      <TextField
        label="Name"
        hint="Links to the workspace stay; commands that name it must change."
        maxLength={64}
        value={name}
        onChange={setName}
        problem={told}
      />
    </Form>
  )
}

function BudgetForm({ workspace, onDone }: FormProps) {
  const [amount, setAmount] = useState(workspace.budget_usd == null ? '' : String(workspace.budget_usd))
  const [tried, setTried] = useState(false)
  const wanted = budgetOf(amount)
  const set = useChange(
    (budget_usd: number | null) =>
      patch('/api/workspaces/{workspace}', { params: { workspace: workspace.id }, body: { budget_usd } }),
    { silent: true, done: `Set the budget of ${workspace.name}.`, after: onDone },
  )
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (wanted !== undefined) set.mutate(wanted)
      }}
      error={set.error}
      title="The budget could not be set"
      actions={
        <Button type="submit" look="primary" busy={set.isPending}>
          Set the budget
        </Button>
      }
    >
      <TextField
        label="US dollars in 24 hours"
        hint="For all runs of the workspace together. Empty: the default of the server."
        optional
        inputMode="decimal"
        autoComplete="off"
        value={amount}
        onChange={setAmount}
        problem={tried && wanted === undefined ? 'Enter an amount such as 25 or 0.50.' : undefined}
      />
    </Form>
  )
}

interface DialogProps extends WorkspaceProps {
  open: boolean
  onClose: () => void
}

function LeaveDialog({ workspace, open, onClose }: DialogProps) {
  const navigate = useNavigate()
  const leave = useChange(
    () => del('/api/workspaces/{workspace}/members/me', { params: { workspace: workspace.id } }),
    { done: `You left ${workspace.name}.`, after: () => void navigate({ to: '/workspaces' }) },
  )
  return (
    <ConfirmDialog
      open={open}
      title="Leave this workspace?"
      confirm="Leave"
      danger
      busy={leave.isPending}
      onConfirm={() => leave.mutate(undefined)}
      onClose={onClose}
    >
      <p>What you made stays in the workspace. Only its admins can add you again.</p>
    </ConfirmDialog>
  )
}

function DeleteDialog({ workspace, open, onClose }: DialogProps) {
  const navigate = useNavigate()
  const remove = useChange(() => del('/api/workspaces/{workspace}', { params: { workspace: workspace.id } }), {
    done: `Deleted ${workspace.name}.`,
    after: () => void navigate({ to: '/workspaces' }),
  })
  return (
    <ConfirmDialog
      open={open}
      title={`Delete ${workspace.name}?`}
      confirm="Delete workspace"
      danger
      busy={remove.isPending}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      <p>All members lose access, and all datasets and secrets in it are deleted. This cannot be undone.</p>
    </ConfirmDialog>
  )
}
