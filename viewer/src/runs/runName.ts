import type { Schema } from '../api/types'
import { clip } from './clip'
import type { Run } from './page'

/** What a run is called by: its id, its name and, where the document has them, the parts that stand for a name. */
export interface Named {
  id: string
  name: string
  title?: Schema<'NameDocument'>
}

/** The beginning of an id that people can tell apart and hand to commands. */
export function shortId(id: string): string {
  return id.slice(0, 13)
}

/** What a run is called: its name or, when it has none, benchmark, model and what sets it apart; at last its id. */
export function runName({ id, name, title }: Named): string {
  if (name.trim() !== '') return clip(name)
  const parts = title === undefined ? [] : [title.benchmark, title.model, title.differs]
  return clip(parts.filter(Boolean).join(' · ')) || shortId(id)
}

/** A name that tells runs of a sweep apart, which share theirs: with benchmark and model. */
export function fullName(run: Named): string {
  const { benchmark = '', model = '' } = run.title ?? {}
  const further = run.name.trim() === '' ? [] : [benchmark, model]
  return [runName(run), ...further].filter(Boolean).join(' · ')
}

/** A name that was made of a configuration, a time and random digits, or of a schedule and its time. */
const STAMPED = /^(.+)-\d{4}(\d{4}T\d{6}Z)(?:-([0-9a-f]{8}))?$/

/** What a run is called in a list: `sums…0616bd1e`, `nightly…1128T030000Z`; the name of a person is kept. */
export function listName(run: Named): string {
  const [, stem, time, digits] = STAMPED.exec(run.name.trim()) ?? []
  return stem === undefined ? runName(run) : `${clip(stem, 40)}…${digits ?? time}`
}

/** The code of an evaluation, `main 9f2c1d0`; empty for other runs. */
export function codeWords({ request }: Pick<Run, 'request'>): string {
  const { branch = '', commit = '', dirty = false } = request?.evaluation ?? {}
  return [branch, commit && `${commit.slice(0, 7)}${dirty ? '+' : ''}`].filter(Boolean).join(' ')
}
