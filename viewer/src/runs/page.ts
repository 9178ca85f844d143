/** Pages of the list of runs, and what a live stream changes in them. */

import type { Schema } from '../api/types'

export type Run = Schema<'RunSummary'>
export type Page = Schema<'RunPage'>

/** What a live stream tells: the runs that changed, whole, and the ids of those that are gone. */
export interface Change {
  runs: Run[]
  deleted: string[]
}

/** Runs of one page. */
export const PAGE_SIZE = 100

/** A page with the changed runs in the places where they were, and without those that are gone. */
export function patchedPage(page: Page, change: Change): Page {
  const changed = new Map(change.runs.map((run) => [run.id, run]))
  const gone = new Set(change.deleted)
  const items = page.items.filter((run) => !gone.has(run.id)).map((run) => changed.get(run.id) ?? run)
  if (items.length === page.items.length && items.every((run, index) => run === page.items[index])) return page
  return { ...page, items, total: page.total - (page.items.length - items.length) }
}

/** Ids of the changed runs that are newer than the list: those that no page has and that were created after `since`. */
export function arrivals(change: Change, known: ReadonlySet<string>, since: number): string[] {
  return change.runs.filter((run) => !known.has(run.id) && Date.parse(run.created_at) > since).map((run) => run.id)
}

/** A row of the list: a run, and below it the older attempts at the same that are folded into it. */
export interface Row {
  run: Run
  attempts: Run[]
  /** Whether this row is an unfolded attempt below another one. */
  nested: boolean
}

/** A row that heads the runs of a benchmark; `open` unless they are folded into it. */
export interface Head {
  benchmark: string
  title: string
  runs: Run[]
  open: boolean
}

export type ListRow = Row | Head

/** Whether a row heads others. */
export function isHead(row: ListRow): row is Head {
  return !('run' in row)
}

/** Rows below heads of their benchmarks, in the order in which these first occur. */
export function groupedRows(rows: readonly Row[], closed: ReadonlySet<string>): ListRow[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.run.benchmark)
    if (group) group.push(row)
    else groups.set(row.run.benchmark, [row])
  }
  return [...groups].flatMap(([benchmark, members]): ListRow[] => {
    const runs = members.flatMap(({ run, attempts }) => [run, ...attempts])
    const open = !closed.has(benchmark)
    const head = { benchmark, title: members[0]?.run.benchmark_title || benchmark, runs, open }
    return open ? [head, ...members] : [head]
  })
}

/** The rows of a list; when `folded`, attempts at the same are below the first of them and shown when it is `open`. */
export function rowsOf(runs: readonly Run[], folded: boolean, open: ReadonlySet<string>): Row[] {
  if (!folded) return runs.map((run) => ({ run, attempts: [], nested: false }))
  const groups = new Map<string, Run[]>()
  for (const run of runs) {
    const key = run.signature || run.id
    const group = groups.get(key)
    if (group) group.push(run)
    else groups.set(key, [run])
  }
  return [...groups].flatMap(([, [first, ...attempts]]) => {
    if (first === undefined) return []
    const head: Row = { run: first, attempts, nested: false }
    if (!open.has(first.signature)) return [head]
    return [head, ...attempts.map((run) => ({ run, attempts: [], nested: true }))]
  })
}
