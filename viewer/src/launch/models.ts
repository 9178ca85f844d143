import type { Schema } from '../api/types'

/** The models that can be chosen. */

type Model = Schema<'OfferedModel'>

/** The options of the field; those that cannot be run now say why. A name of one's own has its own entry. */
export function modelOptions(models: readonly Model[], chosen: string, guest: boolean) {
  const listed = models.map((one) => {
    const reason = one.available === false ? one.reason || 'not available' : guest && !one.guests ? 'for members' : ''
    const label = one.title ? `${one.name} (${one.title})` : one.name
    return { value: one.name, label: reason ? `${label}: ${reason}` : label, disabled: reason !== '' }
  })
  const known = chosen === '' || listed.some((one) => one.value === chosen) || patternOf(models, chosen) !== undefined
  const first = chosen === '' ? [{ value: '', label: 'Choose…', disabled: true }] : []
  return [...first, ...listed, ...(known ? [] : [{ value: chosen, label: chosen, disabled: false }])]
}

/** The offer with a `*` that a name was chosen from; nothing when it stands in the list itself. */
export function patternOf(models: readonly Model[], name: string): Model | undefined {
  if (models.some((one) => one.name === name && !one.name.endsWith('*'))) return undefined
  return models.find((one) => one.name.endsWith('*') && name.startsWith(one.name.slice(0, -1)) && name !== '')
}
