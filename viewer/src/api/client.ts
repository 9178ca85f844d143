/** Requests to the API, typed by its document. All throw `ApiError`. */

import type { paths } from '../../types/schema'
import { address, type QueryValues } from './address'
import { send } from './send'
import { source } from './source'
import type { Answer, Arguments, Method, Params, PathsWith, Query } from './types'

interface Loose {
  params?: Record<string, string | number>
  query?: QueryValues
  body?: unknown
  signal?: AbortSignal
}

async function change<P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  request: Loose,
): Promise<Answer<P, M>> {
  const target = address(path, request.params, request.query)
  return (await send(method.toUpperCase(), target, request.body, request.signal)) as Answer<P, M>
}

/** Read a document. */
export function get<P extends PathsWith<'get'>>(path: P, ...[request]: Arguments<P, 'get'>): Promise<Answer<P, 'get'>> {
  const { params, query, signal } = (request ?? {}) as Loose
  return source.get(path, params as Params<P, 'get'>, query as Query<P, 'get'> | undefined, signal)
}

/** Ask the server to do something. */
export function post<P extends PathsWith<'post'>>(
  path: P,
  ...[request]: Arguments<P, 'post'>
): Promise<Answer<P, 'post'>> {
  return change('post', path, (request ?? {}) as Loose)
}

/** Set something. */
export function put<P extends PathsWith<'put'>>(path: P, ...[request]: Arguments<P, 'put'>): Promise<Answer<P, 'put'>> {
  return change('put', path, (request ?? {}) as Loose)
}

/** Change a part of something. */
export function patch<P extends PathsWith<'patch'>>(
  path: P,
  ...[request]: Arguments<P, 'patch'>
): Promise<Answer<P, 'patch'>> {
  return change('patch', path, (request ?? {}) as Loose)
}

/** Delete something. */
export function del<P extends PathsWith<'delete'>>(
  path: P,
  ...[request]: Arguments<P, 'delete'>
): Promise<Answer<P, 'delete'>> {
  return change('delete', path, (request ?? {}) as Loose)
}
