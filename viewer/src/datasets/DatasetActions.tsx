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
import { Menu } from '../parts/Menu'
import { useChange } from '../parts/useChange'

/** A dataset in its workspace. */
interface DatasetActionsProps {
  workspaceId: string
  dataset: Schema<'DatasetDocument'>
}

/** What its creator, and admins of the workspace, can do with a dataset. */
export function DatasetActions({ workspaceId, dataset }: DatasetActionsProps) {
  const [asked, setAsked] = useState<'rename' | 'delete'>()
  const navigate = useNavigate()
  const params = { workspace: workspaceId, dataset: dataset.id }
  const close = () => setAsked(undefined)
  const remove = useChange(() => del('/api/workspaces/{workspace}/datasets/{dataset}', { params }), {
    done: `Deleted ${dataset.name}.`,
    after: () => void navigate({ to: '/workspaces/$workspaceId/datasets', params: { workspaceId } }),
  })
  return (
    <>
      <Menu
        label="More"
        icon="menu"
        small
        items={[
          { label: 'Rename…', onChoose: () => setAsked('rename') },
          { label: 'Delete…', danger: true, onChoose: () => setAsked('delete') },
        ]}
      />
      <Dialog open={asked === 'rename'} onClose={close} title={`Rename ${dataset.name}`}>
        <RenameForm workspaceId={workspaceId} dataset={dataset} onDone={close} />
      </Dialog>
      <ConfirmDialog
        open={asked === 'delete'}
        title={`Delete ${dataset.name}?`}
        confirm="Delete dataset"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={close}
      >
        <p>Nobody can download it or start runs on it any more. Runs keep the versions that they used.</p>
      </ConfirmDialog>
    </>
  )
}

function RenameForm({ workspaceId, dataset, onDone }: DatasetActionsProps & { onDone: () => void }) {
  const [name, setName] = useState(dataset.name)
  const params = { workspace: workspaceId, dataset: dataset.id }
  const rename = useChange(
    () => patch('/api/workspaces/{workspace}/datasets/{dataset}', { params, body: { name: name.trim() } }),
    { silent: true, done: `Renamed to ${name.trim()}.`, after: onDone },
  )
  const told = rename.error instanceof ApiError ? rename.error.fields.name : undefined
  return (
    <Form
      onSubmit={() => rename.mutate(undefined)}
      error={told ? undefined : rename.error}
      title="The dataset could not be renamed"
      actions={
        <Button type="submit" look="primary" busy={rename.isPending} disabled={name.trim() === ''}>
          Rename
        </Button>
      }
    >
      <TextField
        label="Name"
        hint="Configurations that name the dataset must change too."
        maxLength={100}
        value={name}
        onChange={setName}
        problem={told}
      />
    </Form>
  )
}
