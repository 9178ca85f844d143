/** Documents read from the files of a static site. */
import { fillPath } from './address'
import type { Answer, Params, PathsWith, Query } from './paths'
import { send } from './send'
import type { Source } from './source'

/** Files below `data/`: the document of `/v1/runs/abc` is `data/runs/abc.json`. */
export class SiteSource implements Source {
  readonly live = false

  async get<P extends PathsWith<'get'>>(
    path: P,
    params: Params<P, 'get'>,
    _query: Query<P, 'get'> | undefined,
    signal?: AbortSignal,
  ): Promise<Answer<P, 'get'>> {
    const file = fillPath(path, params as Record<string, string> | undefined).replace(/^\/v1\//, './data/')
    return (await send('GET', new URL(`${file}.json`, document.baseURI).href, undefined, signal)) as Answer<P, 'get'>
  }
}
