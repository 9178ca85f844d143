import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { duration, money } from '../format'
import { Badge } from '../parts/Badge'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu, type MenuItem } from '../parts/Menu'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import styles from './models.module.css'
import { useModelChanges } from './useModelChanges'

type Model = Schema<'ManagedModelDocument'>

interface ModelTableProps {
  models: readonly Model[]
  onEdit: (name: string) => void
}

/** The models of the server with where they are asked, what they cost, and who may use them. */
export function ModelTable({ models, onEdit }: ModelTableProps) {
  return (
    <PlainTable label="Table of models" className={styles.models}>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">State</th>
          <th scope="col" data-minor>
            Key
          </th>
          <th scope="col" data-numeric data-minor>
            Per million tokens
          </th>
          <th scope="col" data-numeric data-minor>
            At once
          </th>
          <th scope="col" data-minor>
            Who may use it
          </th>
          <th scope="col">
            <span className="hidden-text">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {models.map((model) => (
          <ModelRow key={model.name} model={model} onEdit={() => onEdit(model.name)} />
        ))}
      </tbody>
    </PlainTable>
  )
}

function ModelRow({ model, onEdit }: { model: Model; onEdit: () => void }) {
  const { name, title, served_as: served, source, price, parallel, own_price: own } = model
  const check = useChange(() => post('/api/models/check', { body: { model: name, workspace: '' } }))
  return (
    <tr>
      <th scope="row">
        <span className={styles.lines}>
          <bdi data-full={name}>{name}</bdi>
          <span className={styles.second} data-tip={served}>
            {[title, served && `as ${served}`].filter(Boolean).join(', ') || SOURCES[source]}
          </span>
        </span>
      </th>
      <td data-breaks>
        <State model={model} check={check.data} busy={check.isPending} />
      </td>
      <td data-minor>{keyWords(model)}</td>
      <td data-numeric data-minor className="number" data-tip={own ? 'Set for this model' : 'From the table of prices'}>
        {price === null ? 'unknown' : price.input + price.output === 0 ? 'free' : priceWords(price)}
      </td>
      <td data-numeric data-minor className="number">
        {parallel ?? 'no limit'}
      </td>
      <td data-minor data-breaks>
        {usersWords(model)}
      </td>
      <td data-numeric>
        <Actions
          model={model}
          onEdit={onEdit}
          // A model of some workspaces only is checked in the form of a run there.
          onCheck={model.workspaces.length === 0 && !name.endsWith('*') ? () => check.mutate(undefined) : undefined}
        />
      </td>
    </tr>
  )
}

const SOURCES = { settings: 'from the settings', changed: 'changed here', added: 'added here' } as const

function State({ model, check, busy }: { model: Model; check: Schema<'ModelCheck'> | undefined; busy: boolean }) {
  if (busy) return <span className="muted">asking…</span>
  if (check)
    return (
      <span className={styles.lines}>
        {check.answers ? (
          <Badge tone="good" icon="check" title={check.reply}>
            answers in {duration(check.seconds)}
          </Badge>
        ) : (
          <Badge tone="bad" icon="error">
            no answer
          </Badge>
        )}
        <span className={styles.second}>
          {check.answers ? `“${check.reply || '…'}”` : check.error} <When at={check.asked_at} />
        </span>
      </span>
    )
  if (model.disabled) return <Badge tone="idle">disabled</Badge>
  if (model.available)
    return (
      <Badge tone="good" icon="check">
        available
      </Badge>
    )
  return (
    <Badge tone="warn" icon="warning">
      {model.reason}
    </Badge>
  )
}

function keyWords({ key, variable }: Model): string {
  if (key === 'stored') return 'stored'
  return key === 'variable' ? variable : '–'
}

function priceWords({ input, output }: { input: number; output: number }): string {
  return `${money(input)} in, ${money(output)} out`
}

function usersWords({ workspaces, guests, full_bench: batch }: Model): string {
  const words = workspaces.length > 0 ? workspaces.map(({ name }) => name).join(', ') : 'all workspaces'
  return [words, guests && 'guests', batch && 'batch runs'].filter(Boolean).join('; ')
}

interface ActionsProps {
  model: Model
  onEdit: () => void
  onCheck: (() => void) | undefined
}

function Actions({ model, onEdit, onCheck }: ActionsProps) {
  const [asked, setAsked] = useState(false)
  const { toggle, remove } = useModelChanges(model, () => setAsked(false))
  const { name, source, disabled } = model
  const items: MenuItem[] = [
    { label: 'Change…', onChoose: onEdit },
    ...(onCheck ? [{ label: 'Ask it one word', onChoose: onCheck }] : []),
    { label: disabled ? 'Enable' : 'Disable', disabled: toggle.isPending, onChoose: () => toggle.mutate(undefined) },
    ...(source === 'settings'
      ? []
      : [
          { label: source === 'added' ? 'Remove…' : 'Undo the changes…', danger: true, onChoose: () => setAsked(true) },
        ]),
  ]
  return (
    <>
      <Menu label={`Change ${name}`} icon="menu" small items={items} />
      <ConfirmDialog
        open={asked}
        title={source === 'added' ? `Remove ${name}?` : `Undo the changes of ${name}?`}
        confirm={source === 'added' ? 'Remove' : 'Undo'}
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>
          {source === 'added'
            ? 'Its key is deleted, and nobody can start runs with it. Runs of it stay.'
            : 'It is again as in the settings of the server. A key that was stored here is deleted.'}
        </p>
      </ConfirmDialog>
    </>
  )
}
