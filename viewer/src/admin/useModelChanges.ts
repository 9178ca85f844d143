import { del, put } from '../api/client'
import type { Schema } from '../api/types'
import { useChange } from '../parts/useChange'
import { inputOf } from './modelInput'

/** What is done with a model without its form. */
export function useModelChanges(model: Schema<'ManagedModelDocument'>, after: () => void) {
  const params = { name: model.name }
  return {
    toggle: useChange(
      () => put('/api/admin/models/{name}', { params, body: { ...inputOf(model), disabled: !model.disabled } }),
      { done: model.disabled ? `${model.name} is enabled.` : `${model.name} is disabled.` },
    ),
    remove: useChange(() => del('/api/admin/models/{name}', { params }), {
      done: model.source === 'added' ? `${model.name} is removed.` : `${model.name} is as in the settings.`,
      after,
    }),
  }
}
