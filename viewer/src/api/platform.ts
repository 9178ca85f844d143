/** Requests to the API of a platform, typed by its own document. All throw `ApiError`. */
import { type QueryKey, queryOptions, useQuery } from '@tanstack/react-query'
import type { components, paths } from '../../types/schema'
import { address, type QueryValues } from './address'
import { send } from './send'
import type { AnswerOf, ArgumentsOf, Method, PathsOf } from './shapes'

/** Documents of a platform by name: `Doc<'Team'>`. */
export type Doc<Name extends keyof components['schemas']> = components['schemas'][Name]

/** What a path answers. */
export type PlatformAnswer<P extends keyof paths, M extends Method = 'get'> = AnswerOf<paths, P, M>

interface Loose {
  params?: Record<string, string | number>
  query?: QueryValues
  body?: unknown
  signal?: AbortSignal
}

/** Ask for something, or change it: `ask('post', '/v1/teams', { body: { name } })`. */
export async function ask<M extends Method, P extends PathsOf<paths, M>>(
  method: M,
  path: P,
  ...[request]: ArgumentsOf<paths, P, M>
): Promise<AnswerOf<paths, P, M>> {
  const { params, query, body, signal } = (request ?? {}) as Loose
  return (await send(method.toUpperCase(), address(path as string, params, query), body, signal)) as AnswerOf<
    paths,
    P,
    M
  >
}

/** Options of a query for a document of the platform. */
export function platformQuery<P extends PathsOf<paths, 'get'>>(path: P, ...given: ArgumentsOf<paths, P, 'get'>) {
  const { params, query } = (given[0] ?? {}) as { params?: unknown; query?: unknown }
  return queryOptions<AnswerOf<paths, P, 'get'>>({
    queryKey: platformKey(path, params, query),
    queryFn: ({ signal }) =>
      ask('get', path, ...([{ ...(given[0] ?? {}), signal }] as unknown as ArgumentsOf<paths, P, 'get'>)),
  })
}

/** What a document is kept under: invalidating a shorter key renews all below it. */
export function platformKey(path: PropertyKey, params?: unknown, query?: unknown): QueryKey {
  return ['platform', path, params ?? null, query ?? null]
}

/** Read a document of the platform and keep it fresh. */
export function usePlatform<P extends PathsOf<paths, 'get'>>(path: P, ...given: ArgumentsOf<paths, P, 'get'>) {
  return useQuery(platformQuery(path, ...given))
}
