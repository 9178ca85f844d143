/** Draws a part of a page for a test, with the cache and the addresses that its links and queries need. */

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, createRootRoute, createRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { render, screen } from '@testing-library/react'
import type { ReactElement } from 'react'
import { readSearch, writeSearch } from '../search'

/** Draw `part`. Links lead to addresses of the app; nothing is fetched. */
export async function draw(part: ReactElement, client = new QueryClient()): Promise<void> {
  const root = createRootRoute()
  const here = createRoute({
    getParentRoute: () => root,
    path: '/',
    component: () => <div data-testid="part">{part}</div>,
  })
  const pages = ['/runs/$runId', '/episodes/$episodeId', '/benchmarks/$benchmarkId', '/compare'].map((path) =>
    createRoute({ getParentRoute: () => root, path, component: () => <p>{path}</p> }),
  )
  const router = createRouter({
    routeTree: root.addChildren([here, ...pages]),
    history: createMemoryHistory(),
    parseSearch: readSearch,
    stringifySearch: writeSearch,
  })
  // A router that has loaded draws its page at once; otherwise it comes some time after the first drawing.
  await router.load()
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
  screen.getByTestId('part')
}
