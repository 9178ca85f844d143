import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { plural } from '../format'
import { Button } from '../parts/Button'
import { Dialog } from '../parts/Dialog'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { useChange } from '../parts/useChange'
import type { EpisodeFilter } from '../run/search'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'

/** The episodes of a run whose tasks become rows: some, or those that a filter lets through. */
interface AddRowsProps {
  run: Schema<'RunSummary'>
  episodes?: string[]
  where?: EpisodeFilter
  /** How many episodes that are, if it is known. */
  count?: number | null
}

/** A button that adds tasks to a dataset; not there for those from whom the prompts of the run are hidden. */
export function AddRows(props: AddRowsProps) {
  const [open, setOpen] = useState(false)
  const me = useMe()
  const { request } = props.run
  if (me?.type !== 'member' || request === null || request.redacted || props.count === 0) return null
  const close = () => setOpen(false)
  return (
    <>
      <Button icon="plus" onClick={() => setOpen(true)}>
        Add to dataset…
      </Button>
      <Dialog open={open} onClose={close} title="Add to a dataset">
        <Places {...props} onClose={close} />
      </Dialog>
    </>
  )
}

function Places(props: AddRowsProps & { onClose: () => void }) {
  const me = useMe()
  const workspaces = useDocument('/api/workspaces')
  return (
    <Loaded query={workspaces} title="Your workspaces could not be loaded">
      {(found) => {
        const places = found.filter((one) => mayAs('member', one, me))
        if (places.length > 0) return <AddRowsForm {...props} places={places} />
        return (
          <Empty title="You cannot upload to any workspace">
            Datasets belong to workspaces. Create one, or ask an admin of one to make you a member.
          </Empty>
        )
      }}
    </Loaded>
  )
}

const NEW = ''
const ALL: NonNullable<Schema<'DatasetRowsInput'>['where']> = {
  state: [],
  cause: [],
  outcome: '',
  low: null,
  high: null,
  task: '',
  label: '',
  mistake: '',
  behaviour: '',
  q: '',
  sort: 'index',
}

function AddRowsForm({
  run,
  episodes,
  where,
  count,
  places,
  onClose,
}: AddRowsProps & { places: Schema<'WorkspaceDocument'>[]; onClose: () => void }) {
  const own = places.find((one) => one.id === run.workspace_id) ?? places[0]
  const [workspace, setWorkspace] = useState(own?.id ?? '')
  const [dataset, setDataset] = useState(NEW)
  const [name, setName] = useState('')
  const [split, setSplit] = useState('')
  const navigate = useNavigate()
  const known = useDocument('/api/workspaces/{workspace}/datasets', { params: { workspace }, query: { limit: 100 } })
  const wanted = dataset || name.trim()
  const add = useChange(
    () =>
      post('/api/workspaces/{workspace}/datasets/{dataset}/rows', {
        params: { workspace, dataset: wanted },
        body: { run: run.id, split: split.trim(), ...(episodes ? { episodes } : { where: { ...ALL, ...where } }) },
      }),
    {
      silent: true,
      after: ({ id, version }) => {
        onClose()
        const params = { workspaceId: workspace, datasetId: id }
        void navigate({ to: '/workspaces/$workspaceId/datasets/$datasetId', params, search: { version } })
      },
    },
  )
  const told = add.error instanceof ApiError ? add.error.fields.dataset : undefined
  const options = (known.data?.items ?? []).map((one) => ({ value: one.id, label: one.name }))
  return (
    <Form
      label="Add to a dataset"
      onSubmit={() => wanted !== '' && add.mutate(undefined)}
      error={told ? undefined : add.error}
      title="The rows could not be added"
      actions={
        <>
          <Button type="submit" look="primary" busy={add.isPending} disabled={wanted === ''}>
            Add
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <p>
        Each task of {count == null ? 'the episodes' : plural(count, 'episode')} becomes a row, once the episode has
        ended. Rows that the dataset has already are not added again.
      </p>
      {places.length > 1 && (
        <SelectField
          label="Workspace"
          value={workspace}
          onChange={(value) => {
            setWorkspace(value)
            setDataset(NEW)
          }}
          options={places.map((one) => ({ value: one.id, label: one.name }))}
        />
      )}
      <SelectField
        label="Dataset"
        value={dataset}
        onChange={setDataset}
        options={[{ value: NEW, label: 'A new dataset' }, ...options]}
      />
      {dataset === NEW && (
        <TextField
          label="Name"
          hint="The name of a dataset that exists adds a version to it."
          maxLength={100}
          value={name}
          onChange={setName}
          problem={told}
        />
      )}
      <TextField
        label="Split"
        optional
        hint="The part of the dataset that the rows belong to, such as test."
        maxLength={200}
        value={split}
        onChange={setSplit}
      />
    </Form>
  )
}
