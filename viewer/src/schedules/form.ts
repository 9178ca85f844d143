/** What the form of a schedule holds, and the request that it makes. */
import type { Schema } from '../api/types'
import { ownZone } from './times'

/** The fields of the form as they are written. */
export interface ScheduleFields {
  name: string
  configuration: string
  branch: string
  trigger: Schema<'ScheduleInput'>['trigger']
  cron: string
  timezone: string
  limit: string
  model: string
  tags: string
}

/** The fields of a schedule that is changed, or of a new one, perhaps of a configuration that is chosen already. */
export function fieldsOf(schedule?: Schema<'ScheduleDocument'>, configuration = ''): ScheduleFields {
  if (schedule === undefined) {
    return {
      ...{ name: '', configuration, branch: '', limit: '', model: '', tags: '' },
      ...{ trigger: 'cron', cron: '0 3 * * *', timezone: ownZone() },
    }
  }
  const { limit, model, tags } = schedule.overrides
  return {
    name: schedule.name,
    configuration: schedule.configuration,
    branch: schedule.branch,
    trigger: schedule.trigger,
    cron: schedule.cron || '0 3 * * *',
    timezone: schedule.timezone,
    limit: limit == null ? '' : String(limit),
    model: model ?? '',
    tags: (tags ?? []).join(', '),
  }
}

/** What is wrong with the fields, by their names; the server says the rest. */
export function faultsOf(fields: ScheduleFields): Partial<Record<keyof ScheduleFields, string>> {
  const faults: Partial<Record<keyof ScheduleFields, string>> = {}
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$/.test(fields.name.trim())) {
    faults.name = "Up to 60 letters, digits, '.', '_' and '-', a letter or a digit first."
  }
  if (fields.configuration.trim() === '') faults.configuration = 'Choose a configuration.'
  if (fields.limit.trim() !== '' && !/^[1-9]\d{0,7}$/.test(fields.limit.trim())) {
    faults.limit = 'A number of rows from 1.'
  }
  return faults
}

/** The body of the request. */
export function inputOf(fields: ScheduleFields): Schema<'ScheduleInput'> {
  const tags = fields.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)
  return {
    name: fields.name.trim(),
    configuration: fields.configuration.trim(),
    branch: fields.branch.trim(),
    trigger: fields.trigger,
    cron: fields.trigger === 'cron' ? fields.cron.trim() : '',
    timezone: fields.trigger === 'cron' ? fields.timezone.trim() : 'UTC',
    overrides: {
      limit: fields.limit.trim() === '' ? null : Number(fields.limit),
      model: fields.model.trim() || null,
      tags,
    },
  }
}
