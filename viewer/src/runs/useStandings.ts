import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { PAGE_SIZE, type Run } from './page'
import type { Standing } from './ToBaseline'

/** Runs against the baseline of their benchmark, by id; empty while they are computed, and on a site. */
export function useStandings(runs: readonly Run[], baseline: readonly string[]): ReadonlyMap<string, Standing> {
  const first = runs.slice(0, PAGE_SIZE)
  const found = useQuery({ ...standingsQuery(first, baseline), enabled: source.live && first.length > 0 }).data?.items
  // Further pages are compared with the baselines of the first one, so that a row does not change by scrolling.
  const bases = useMemo(
    () => [...new Set([...baseline, ...(found ?? []).flatMap(({ baseline_id }) => baseline_id ?? [])])].slice(0, 20),
    [baseline, found],
  )
  const further = found === undefined ? [] : pages(runs).map((page) => standingsQuery(page, bases))
  const rest = useQueries({ queries: further })
  return new Map([...(found ?? []), ...rest.flatMap(({ data }) => data?.items ?? [])].map((one) => [one.run_id, one]))
}

function standingsQuery(runs: readonly Run[], baseline: readonly string[]) {
  const query = documentQuery('/api/runs/baseline', {
    query: { run: runs.map(({ id }) => id), baseline: [...baseline] },
  })
  // What was said of a run holds until its state or its score changes.
  const version = runs.map(({ state, primary }) => `${state} ${primary?.value} ${primary?.n_scored}`).join()
  return {
    ...query,
    queryKey: [...query.queryKey, version],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  }
}

function pages(runs: readonly Run[]): Run[][] {
  const found: Run[][] = []
  for (let at = PAGE_SIZE; at < runs.length; at += PAGE_SIZE) found.push(runs.slice(at, at + PAGE_SIZE))
  return found
}
