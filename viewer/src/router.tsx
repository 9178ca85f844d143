/**
 * The pages of the record by address; each is loaded when it is first opened (or its link is pointed at), together with the document
 * that it shows: the page's own query, asked for once on the way in and not waited for.
 */
import type { QueryClient } from '@tanstack/react-query'
import {
  type AnyRouter,
  createBrowserHistory,
  createHashHistory,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router'
import { documentQuery } from './api/query'
import { catalogueQuery } from './benchmarks/catalogueQuery'
import { readBenchmarkSearch, readBenchmarksSearch } from './benchmarks/search'
import { compareQuery } from './compare/compareQuery'
import { contestQuery } from './compare/contest/contestQuery'
import { readCompareEpisodesSearch, readCompareSearch } from './compare/search'
import { readEpisodeSearch } from './episode/search'
import { Layout } from './parts/Layout'
import { NotFound } from './parts/NotFound'
import { PageFailure } from './parts/PageFailure'
import { PageSkeleton } from './parts/PageSkeleton'
import { place } from './place'
import { readAgreementSearch, readReviewsSearch, readRoundSearch } from './reviews/search'
import { readRunSearch } from './run/search'
import { pageQuery } from './runs/pageQuery'
import { readRunsSearch } from './runs/search'
import { readSaidSearch } from './said/search'
import { readSearch, writeSearch } from './search'

interface Context {
  cache: QueryClient
}

/** Whether there is a catalogue of benchmarks; a server has domains instead. */
const catalogued = place.mode !== 'server'

export const root = createRootRouteWithContext<Context>()({ component: Layout, notFoundComponent: NotFound })

export const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: readRunsSearch,
  loader: ({ context, location }) => void context.cache.prefetchQuery(pageQuery(readRunsSearch(location.search))),
  component: lazyRouteComponent(() => import('./runs/RunsPage'), 'RunsPage'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: readRunSearch,
  loader: ({ context, params }) =>
    void context.cache.prefetchQuery(documentQuery('/api/runs/{run_id}', { params: { run_id: params.runId } })),
  component: lazyRouteComponent(() => import('./run/RunPage'), 'RunPage'),
})

const episode = createRoute({
  getParentRoute: () => root,
  path: '/episodes/$episodeId',
  validateSearch: readEpisodeSearch,
  loader: ({ context, params }) =>
    void context.cache.prefetchQuery(
      documentQuery('/api/episodes/{episode_id}', { params: { episode_id: params.episodeId } }),
    ),
  component: lazyRouteComponent(() => import('./episode/EpisodePage'), 'EpisodePage'),
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  validateSearch: readCompareSearch,
  loader: ({ context, location }) => {
    const search = readCompareSearch(location.search)
    if (search.comparison !== undefined && search.run === undefined)
      void context.cache.prefetchQuery(contestQuery(search.comparison))
    if ((search.run ?? []).length > 1) void context.cache.prefetchQuery(compareQuery(search))
  },
  component: lazyRouteComponent(() => import('./compare/ComparePage'), 'ComparePage'),
})

const compareEpisodes = createRoute({
  getParentRoute: () => root,
  path: '/compare/episodes',
  validateSearch: readCompareEpisodesSearch,
  component: lazyRouteComponent(() => import('./compare/CompareEpisodesPage'), 'CompareEpisodesPage'),
})

const said = createRoute({
  getParentRoute: () => root,
  path: '/search',
  validateSearch: readSaidSearch,
  component: lazyRouteComponent(() => import('./said/SearchPage'), 'SearchPage'),
})

export const benchmarks = createRoute({
  getParentRoute: () => root,
  path: '/benchmarks',
  validateSearch: readBenchmarksSearch,
  loader: ({ context, location }) =>
    catalogued &&
    void context.cache.prefetchInfiniteQuery(catalogueQuery(readBenchmarksSearch(location.search).q ?? '')),
  component: lazyRouteComponent(() => import('./benchmarks/BenchmarksPage'), 'BenchmarksPage'),
})

export const benchmark = createRoute({
  getParentRoute: () => root,
  path: '/benchmarks/$benchmarkId',
  validateSearch: readBenchmarkSearch,
  loader: ({ context, params }) =>
    catalogued &&
    void context.cache.prefetchQuery(
      documentQuery('/api/benchmarks/{benchmark_id}', { params: { benchmark_id: params.benchmarkId } }),
    ),
  component: lazyRouteComponent(() => import('./benchmarks/BenchmarkPage'), 'BenchmarkPage'),
})

const task = createRoute({
  getParentRoute: () => root,
  path: '/benchmarks/$benchmarkId/tasks/$taskDigest',
  component: lazyRouteComponent(() => import('./benchmarks/task/TaskPage'), 'TaskPage'),
})

const reviews = createRoute({
  getParentRoute: () => root,
  path: '/reviews',
  validateSearch: readReviewsSearch,
  component: lazyRouteComponent(() => import('./reviews/ReviewsPage'), 'ReviewsPage'),
})

const review = createRoute({
  getParentRoute: () => root,
  path: '/reviews/$roundId',
  validateSearch: readRoundSearch,
  component: lazyRouteComponent(() => import('./reviews/ReviewPage'), 'ReviewPage'),
})

const agreement = createRoute({
  getParentRoute: () => root,
  path: '/reviews/$roundId/agreement',
  validateSearch: readAgreementSearch,
  component: lazyRouteComponent(() => import('./reviews/AgreementPage'), 'AgreementPage'),
})

/** The pages of the record, which are the same wherever the app lives. */
export const recordPages = [
  ...([home, run, episode, compare, compareEpisodes, said, benchmarks, benchmark, task] as const),
  ...([reviews, review, agreement] as const),
] as const

/** What every router of the app is made with: addresses are paths in front of a server, fragments in a static site. */
export function routerOptions(cache: QueryClient) {
  return {
    context: { cache },
    history: place.mode === 'site' ? createHashHistory() : createBrowserHistory(),
    basepath: place.mode === 'site' ? '/' : new URL(document.baseURI).pathname,
    parseSearch: readSearch,
    stringifySearch: writeSearch,
    defaultPreload: 'intent' as const,
    // Loaders only begin what the page goes on with: there is no need to begin again when the address changes.
    defaultStaleTime: Number.POSITIVE_INFINITY,
    defaultPendingComponent: PageSkeleton,
    defaultPendingMs: 150,
    defaultErrorComponent: PageFailure,
    scrollRestoration: true,
  }
}

/** Open the router of a server or a site. */
export function openRouter(cache: QueryClient): AnyRouter {
  return createRouter({ routeTree: root.addChildren(recordPages), ...routerOptions(cache) })
}
