import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Check } from '../form/Check'
import { Field } from '../form/Field'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { ENDINGS, faultOf, nameOf } from './fileName'
import { UploadState } from './UploadState'
import { useUpload } from './useUpload'

/** Where a file is uploaded to, and what happens then. */
interface UploadFormProps {
  workspaceId: string
  /** The dataset of which it is a new version; without, the form asks for a name. */
  dataset?: string
  onDone: (done: Schema<'DatasetUpload'>) => void
  onClose: () => void
}

const ROLES = [
  { role: 'user_prompt', label: 'Prompt', usual: 'user_prompt' },
  { role: 'ground_truth', label: 'Ground truth', usual: 'ground_truth or label' },
  { role: 'system_prompt', label: 'System prompt', usual: 'system_prompt' },
  { role: 'metadata', label: 'Metadata', usual: 'metadata' },
] as const

type Columns = Partial<Record<(typeof ROLES)[number]['role'], string>>

/** Choose a file and upload it; the same file again continues where an upload stopped. */
export function UploadForm({ workspaceId, dataset, onDone, onClose }: UploadFormProps) {
  const [file, setFile] = useState<File>()
  const [name, setName] = useState('')
  const [overwrite, setOverwrite] = useState(false)
  const [named, setNamed] = useState(false)
  const [columns, setColumns] = useState<Columns>({})
  const [tried, setTried] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  const { progress, error, start, stop } = useUpload(onDone)
  useEffect(() => chooser.current?.focus(), [])
  const fields = error instanceof ApiError ? error.fields : {}
  const fault = tried || file !== undefined ? faultOf(file) : undefined
  const submit = () => {
    setTried(true)
    if (file === undefined || faultOf(file) !== undefined) return
    start({
      workspace: workspaceId,
      file,
      name: dataset ?? (name.trim() || nameOf(file.name)),
      overwrite: dataset !== undefined || overwrite,
      columns: named ? rolesOf(columns) : {},
    })
  }
  return (
    <Form
      label="Upload a file"
      onSubmit={submit}
      error={fields.name ? undefined : error}
      title="The file could not be uploaded"
      actions={
        progress ? (
          <Button onClick={stop}>Stop</Button>
        ) : (
          <>
            <Button type="submit" look="primary" icon="arrowUp">
              Upload
            </Button>
            <Button onClick={onClose}>Cancel</Button>
          </>
        )
      }
    >
      <Field
        label="File"
        hint="CSV, JSONL or Parquet. To continue an upload that stopped, choose the same file again."
        problem={fault}
      >
        {(control) => (
          <input
            ref={chooser}
            type="file"
            accept={ENDINGS.join(',')}
            disabled={progress !== undefined}
            onChange={(event) => setFile(event.target.files?.[0])}
            {...control}
          />
        )}
      </Field>
      {dataset === undefined && (
        <>
          <TextField
            label="Name"
            optional
            maxLength={100}
            placeholder={file ? nameOf(file.name) : 'the name of the file'}
            value={name}
            onChange={setName}
            problem={fields.name}
          />
          <Check
            label="New version if the name exists"
            hint="Older versions stay; runs keep the version that they used."
            checked={overwrite}
            onChange={setOverwrite}
          />
        </>
      )}
      <Check
        label="The columns have other names"
        hint="Say which column is the prompt, and which the ground truth."
        checked={named}
        onChange={setNamed}
      />
      {named && (
        <Row>
          {ROLES.map(({ role, label, usual }) => (
            <TextField
              key={role}
              label={label}
              placeholder={usual}
              spellCheck={false}
              autoCapitalize="none"
              maxLength={200}
              value={columns[role] ?? ''}
              onChange={(value) => setColumns({ ...columns, [role]: value })}
            />
          ))}
        </Row>
      )}
      {progress && <UploadState progress={progress} />}
    </Form>
  )
}

function rolesOf({ user_prompt, ground_truth, system_prompt, metadata }: Columns): Schema<'DatasetColumns'> {
  const truths = ground_truth
    ?.split(',')
    .map((one) => one.trim())
    .filter(Boolean)
  return {
    user_prompt: user_prompt?.trim() || undefined,
    ground_truth: truths?.length ? truths : undefined,
    system_prompt: system_prompt?.trim() || undefined,
    metadata: metadata?.trim() || undefined,
  }
}
