import { clip } from './clip'
import type { Run } from './page'

/** The beginning of an id that people can tell apart and hand to commands. */
export function shortId(id: string): string {
  return id.slice(0, 13)
}

/** What a run is called: its name or, when it has none, the beginning of its id. */
export function runName(run: Pick<Run, 'id' | 'name'>): string {
  return run.name.trim() === '' ? shortId(run.id) : clip(run.name)
}

/** A name that was made of a configuration, a time and random digits, or of a schedule and its time. */
const STAMPED = /^(.+)-\d{4}(\d{4}T\d{6}Z)(?:-([0-9a-f]{8}))?$/

/** What a run is called in a list: `sums…0616bd1e`, `nightly…1128T030000Z`; the name of a person is kept. */
export function listName(run: Pick<Run, 'id' | 'name'>): string {
  const [, stem, time, digits] = STAMPED.exec(run.name.trim()) ?? []
  return stem === undefined ? runName(run) : `${clip(stem, 40)}…${digits ?? time}`
}

/** The code of an evaluation, `main 9f2c1d0`; empty for other runs. */
export function codeWords({ request }: Pick<Run, 'request'>): string {
  const { branch = '', commit = '', dirty = false } = request?.evaluation ?? {}
  return [branch, commit && `${commit.slice(0, 7)}${dirty ? '+' : ''}`].filter(Boolean).join(' ')
}
