/** Where documents are read from: a server, or the files of a static site. */
import { place } from '../place'
import { ServerSource } from './server'
import { SiteSource } from './site'
import type { Answer, Params, PathsWith, Query } from './types'

/** One way of reading documents of the API. */
export interface Source {
  /** Whether runs can be stopped, resumed, tagged and deleted, and whether there are live streams. */
  readonly live: boolean
  /** Read the document at a path; throws `ApiError`. */
  get<P extends PathsWith<'get'>>(
    path: P,
    params: Params<P, 'get'>,
    query: Query<P, 'get'> | undefined,
    signal?: AbortSignal,
  ): Promise<Answer<P, 'get'>>
}

/** The source of this page. */
export const source: Source = place.mode === 'site' ? new SiteSource() : new ServerSource()
