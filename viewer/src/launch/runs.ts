/** Runs that a form asks for, one for each model: what they would come to, and how they are started. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { useSettled } from '../evaluate/useEstimate'
import { useChange } from '../parts/useChange'

type Body = Schema<'ForecastInput'>['runs'][number]

/** A run as it is submitted. An empty model is the configured one. */
export interface Wanted {
  model: string
  body: Body
}

/** Runs that are submitted, and the models whose runs the server refused, with the reason. */
export interface Submitted {
  runs: { model: string; id: string }[]
  refused: { model: string; why: string }[]
}

/** The most models of one submission. */
export const MOST_MODELS = 20

/** The name of a model as a part of the name of a run. */
export function slug(model: string): string {
  return model.replace(/^[^/]*\//, '').replace(/[^A-Za-z0-9._-]+/g, '-')
}

/** The name of one of several runs: with that of its model where it belongs, else behind it. */
export function nameOf(name: string, model: string, several: boolean): string {
  const typed = name.trim()
  if (typed.includes('{model}')) return typed.replaceAll('{model}', slug(model))
  return typed !== '' && several ? `${typed}-${slug(model)}` : typed
}

/** What is wrong with the chosen models. */
export function modelsProblem(models: readonly string[]): string | undefined {
  if (models.length === 0) return 'Choose at least one model.'
  return models.length > MOST_MODELS ? `At most ${MOST_MODELS} models at once.` : undefined
}

interface RunsOptions {
  /** Whether all that is needed is chosen. */
  ready: boolean
  /** Told of models whose runs were refused, to be mended and started again. */
  onRefused: (models: string[]) => void
  onStarted: (ids: string[]) => void
}

/** What the runs would come to, asked again when the form has rested for a moment, and how they are started. */
export function useRuns(wanted: readonly Wanted[], { ready, onRefused, onStarted }: RunsOptions) {
  const [before, setBefore] = useState<Submitted>({ runs: [], refused: [] })
  const settled = useSettled(ready ? JSON.stringify({ runs: wanted.map(({ body }) => body) }) : '')
  const forecast = useQuery<Schema<'Forecast'>>({
    queryKey: ['/api/runs/forecast', settled],
    queryFn: ({ signal }) =>
      post('/api/runs/forecast', { body: JSON.parse(settled) as Schema<'ForecastInput'>, signal }),
    enabled: settled !== '',
    retry: false,
    placeholderData: (earlier) => earlier,
  })
  const start = useChange(() => submitAll(wanted, ({ body }) => post('/api/runs', { body })), {
    silent: true,
    after: (found) => {
      setBefore(found)
      if (found.refused.length > 0) onRefused(found.refused.map(({ model }) => model))
      else onStarted(found.runs.map(({ id }) => id))
    },
  })
  const found = ready && !forecast.error ? forecast.data : undefined
  return { ready, count: wanted.length, forecast, found, start, before }
}

export type Runs = ReturnType<typeof useRuns>

/** Submit runs one after the other; a refused one does not keep the others. */
export async function submitAll<One extends { model: string }>(
  wanted: readonly One[],
  submit: (one: One) => Promise<{ id: string }>,
): Promise<Submitted> {
  const found: Submitted = { runs: [], refused: [] }
  for (const one of wanted) {
    try {
      found.runs.push({ model: one.model, id: (await submit(one)).id })
    } catch (error) {
      found.refused.push({ model: one.model, why: error instanceof Error ? error.message : String(error) })
    }
  }
  return found
}

/** What the chosen runs come to together, as far as it is known. */
export interface Total {
  episodes: number
  tokens: number | null
  /** Of the longest run: they go on side by side where there is room. */
  seconds: number | null
  refused: number
}

/** Add up a forecast. */
export function totalOf({ runs }: Schema<'Forecast'>): Total {
  const accepted = runs.filter(({ refused }) => refused === '')
  const tokens = accepted.flatMap((run) => (run.tokens === null ? [] : [run.tokens.value]))
  const seconds = accepted.flatMap((run) => (run.seconds === null ? [] : [run.seconds.value]))
  return {
    episodes: accepted.reduce((sum, { episodes }) => sum + episodes, 0),
    tokens: tokens.length === 0 ? null : tokens.reduce((sum, one) => sum + one, 0),
    seconds: seconds.length === 0 ? null : Math.max(...seconds),
    refused: runs.length - accepted.length,
  }
}
