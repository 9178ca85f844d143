/** The pages by address; each is loaded when it is first opened (or its link is pointed at). */
import type { QueryClient } from '@tanstack/react-query'
import {
  createBrowserHistory,
  createHashHistory,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router'
import { readBenchmarkSearch, readBenchmarksSearch } from './benchmarks/search'
import { readCompareEpisodesSearch, readCompareSearch } from './compare/search'
import { readEpisodeSearch } from './episode/search'
import { Layout } from './parts/Layout'
import { NotFound } from './parts/NotFound'
import { PageFailure } from './parts/PageFailure'
import { PageSkeleton } from './parts/PageSkeleton'
import { place } from './place'
import { readRunSearch } from './run/search'
import { readRunsSearch } from './runs/search'
import { readSearch, writeSearch } from './search'

interface Context {
  cache: QueryClient
}

const root = createRootRouteWithContext<Context>()({ component: Layout, notFoundComponent: NotFound })

const runs = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import('./runs/RunsPage'), 'RunsPage'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: readRunSearch,
  component: lazyRouteComponent(() => import('./run/RunPage'), 'RunPage'),
})

const episode = createRoute({
  getParentRoute: () => root,
  path: '/episodes/$episodeId',
  validateSearch: readEpisodeSearch,
  component: lazyRouteComponent(() => import('./episode/EpisodePage'), 'EpisodePage'),
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  validateSearch: readCompareSearch,
  component: lazyRouteComponent(() => import('./compare/ComparePage'), 'ComparePage'),
})

const compareEpisodes = createRoute({
  getParentRoute: () => root,
  path: '/compare/episodes',
  validateSearch: readCompareEpisodesSearch,
  component: lazyRouteComponent(() => import('./compare/CompareEpisodesPage'), 'CompareEpisodesPage'),
})

const benchmarks = createRoute({
  getParentRoute: () => root,
  path: '/benchmarks',
  validateSearch: readBenchmarksSearch,
  component: lazyRouteComponent(() => import('./benchmarks/BenchmarksPage'), 'BenchmarksPage'),
})

const benchmark = createRoute({
  getParentRoute: () => root,
  path: '/benchmarks/$benchmarkId',
  validateSearch: readBenchmarkSearch,
  component: lazyRouteComponent(() => import('./benchmarks/BenchmarkPage'), 'BenchmarkPage'),
})

const routeTree = root.addChildren([runs, run, episode, compare, compareEpisodes, benchmarks, benchmark])

/** Open the router: addresses are paths in front of a server, fragments in a static site. */
export function openRouter(cache: QueryClient) {
  return createRouter({
    routeTree,
    context: { cache },
    history: place.mode === 'site' ? createHashHistory() : createBrowserHistory(),
    basepath: place.mode === 'site' ? '/' : new URL(document.baseURI).pathname,
    parseSearch: readSearch,
    stringifySearch: writeSearch,
    defaultPreload: 'intent',
    defaultPendingComponent: PageSkeleton,
    defaultPendingMs: 150,
    defaultErrorComponent: PageFailure,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof openRouter>
  }
}
