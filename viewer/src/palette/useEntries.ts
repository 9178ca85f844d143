/** What the palette offers: actions and pages of the registry, and what the record holds. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import type { Shortcut } from '../keys/registry'
import { useShortcuts } from '../keys/useShortcuts'
import { place } from '../place'
import { modelText } from '../runs/model'
import { fullName } from '../runs/runName'
import { readGroup, readView } from '../runs/views'
import { useMe } from '../session/useMe'
import { rank } from './match'
import { recent } from './recent'

/** Something that can be chosen. */
export interface Entry {
  id: string
  label: string
  /** What kind of thing it is: `Run`, `Model`, or the group of an action. */
  kind: string
  keys?: string
  choose: () => void
}

const PAUSE_MS = 120
const RUNS = 8
const MOST = 40
/** Actions of a page that are shown before anything is typed. */
const FIRST = 8

/** What fits a text, the best first; before anything is typed what one is likely to want. */
export function useEntries(typed: string): { entries: Entry[]; waiting: boolean } {
  const text = typed.trim()
  const actions = useActions()
  const kept = useKept()
  const { entries: runs, waiting } = useFound(text)
  const navigate = useNavigate()
  const [visits] = useState(recent)
  const entries = useMemo(() => {
    const visited: Entry[] = visits.map(({ kind, id, label }) => ({
      id: `recent ${id}`,
      label,
      kind: kind === 'run' ? 'Recent run' : 'Recent episode',
      choose: () =>
        void (kind === 'run'
          ? navigate({ to: '/runs/$runId', params: { runId: id } })
          : navigate({ to: '/episodes/$episodeId', params: { episodeId: id } })),
    }))
    if (text === '') {
      const here = actions.filter(({ kind }) => kind !== 'Everywhere')
      const views = kept.filter(({ kind }) => kind === 'View')
      const everywhere = actions.filter(({ kind }) => kind === 'Everywhere')
      return [...here.slice(0, FIRST), ...visited.slice(0, 6), ...views.slice(0, 6), ...everywhere]
    }
    // A run that was found and was looked at lately is one thing.
    const known = new Set(runs.map(({ id }) => id))
    const others = visited.filter(({ id }) => !known.has(id.replace('recent ', 'run ')))
    const fitting = [...actions, ...others, ...kept]
      .flatMap((entry) => ({ entry, at: rank(text, entry.label) }))
      .filter((one): one is { entry: Entry; at: number } => one.at !== undefined)
    // The server found these, perhaps by a tag or an id that is no part of the name.
    const found = runs.map((entry) => ({ entry, at: rank(text, entry.label) ?? 1 }))
    const best = [...fitting, ...found].sort((one, other) => other.at - one.at).map(({ entry }) => entry)
    return [...best.slice(0, MOST), ...further(text, navigate)]
  }, [text, actions, kept, runs, visits, navigate])
  return { entries, waiting }
}

/** What can be done right now. */
function useActions(): Entry[] {
  const shortcuts = useShortcuts()
  return useMemo(() => {
    const latest = new Map<string, Shortcut>()
    for (const one of shortcuts) {
      // The one added last wins, and stands where the first one stood no longer.
      const name = one.keys || one.label
      latest.delete(name)
      latest.set(name, one)
    }
    return [...latest.values()]
      .filter(({ step }) => !step)
      .map(({ keys, label, group, action }) => ({
        id: `action ${group} ${label} ${keys}`,
        label,
        kind: group,
        keys: keys || undefined,
        choose: action,
      }))
  }, [shortcuts])
}

/** Benchmarks, models and saved views; each list is short and read once. */
function useKept(): Entry[] {
  const navigate = useNavigate()
  const me = useMe()
  const server = place.mode === 'server'
  const person = source.live && (!server || (me !== undefined && me.type !== 'anonymous'))
  const facets = useQuery({ ...documentQuery('/api/runs/facets'), enabled: !server || person }).data
  const catalogue = useQuery({ ...documentQuery('/api/benchmarks', { query: { limit: 200 } }), enabled: !server }).data
  const views = useQuery({ ...documentQuery('/api/views'), enabled: person }).data
  return useMemo(() => {
    const benchmarks = server
      ? (facets?.benchmark ?? []).map(({ value }) => ({ id: value, title: value }))
      : (catalogue?.items ?? [])
    return [
      ...benchmarks.map(({ id, title }) => ({
        id: `benchmark ${id}`,
        label: title && title !== id ? `${title} · ${id}` : id,
        kind: 'Benchmark',
        choose: () =>
          void (server
            ? navigate({ to: '/', search: { benchmark: [id] } })
            : navigate({ to: '/benchmarks/$benchmarkId', params: { benchmarkId: id } })),
      })),
      ...(facets?.model ?? []).map(({ value }) => ({
        id: `model ${value}`,
        label: modelText(value),
        kind: 'Model',
        choose: () => void navigate({ to: '/', search: { model: [value] } }),
      })),
      ...(views ?? []).map(({ name, search }) => ({
        id: `view ${name}`,
        label: name,
        kind: readGroup(search) === undefined ? 'View' : 'Group of a run',
        choose: () => {
          const group = readGroup(search)
          if (group === undefined) void navigate({ to: '/', search: readView(search) })
          else void navigate({ to: '/runs/$runId', params: { runId: group.run }, search: { said: group.said } })
        },
      })),
    ]
  }, [server, facets, catalogue, views, navigate])
}

/** Runs that the record finds once typing pauses; a question that is out of date is cancelled. */
function useFound(text: string): { entries: Entry[]; waiting: boolean } {
  const navigate = useNavigate()
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const found = useQuery({
    ...documentQuery('/api/runs', { query: { q: asked, limit: RUNS } }),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
    retry: false,
  })
  const items = text === '' ? undefined : found.data?.items
  const stale = found.isPlaceholderData || asked !== text
  const entries = useMemo(
    () =>
      (items ?? [])
        .map((run) => ({
          id: `run ${run.id}`,
          label: fullName(run),
          kind: 'Run',
          choose: () => void navigate({ to: '/runs/$runId', params: { runId: run.id } }),
        }))
        // What was found for an older text is shown only as far as it fits this one.
        .filter(({ label }) => !stale || rank(text, label) !== undefined),
    [items, stale, text, navigate],
  )
  return { entries, waiting: text !== '' && (asked !== text || found.isFetching) }
}

/** Where a text can be looked for when nothing fits. */
function further(text: string, navigate: ReturnType<typeof useNavigate>): Entry[] {
  const runs: Entry = {
    id: 'further runs',
    label: `Runs with “${text}”`,
    kind: 'Search',
    choose: () => void navigate({ to: '/', search: { q: text } }),
  }
  const said: Entry = {
    id: 'further said',
    label: `What was said: “${text}”`,
    kind: 'Search',
    choose: () => void navigate({ to: '/search', search: { q: text } }),
  }
  return place.mode === 'site' ? [runs] : [said, runs]
}
