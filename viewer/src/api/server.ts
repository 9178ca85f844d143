/** Documents read from the server's API. */
import { address, type QueryValues } from './address'
import { send } from './send'
import type { Source } from './source'
import type { Answer, Params, PathsWith, Query } from './types'

/** A server in front of a store. */
export class ServerSource implements Source {
  readonly live = true

  async get<P extends PathsWith<'get'>>(
    path: P,
    params: Params<P, 'get'>,
    query: Query<P, 'get'> | undefined,
    signal?: AbortSignal,
  ): Promise<Answer<P, 'get'>> {
    const found = address(path, params as Record<string, string> | undefined, query as QueryValues | undefined)
    return (await send('GET', found, undefined, signal)) as Answer<P, 'get'>
  }
}
