/** The pages of a platform by address: those of the record, and its own; each is loaded when it is first opened. */
import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { home, recordPages, root, routerOptions } from '../router'
import { readSignInSearch } from '../session/search'
import { PlatformLayout } from './PlatformLayout'

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: readSignInSearch,
  component: lazyRouteComponent(() => import('../session/SignInPage'), 'SignInPage'),
})

const pages = [...recordPages, signIn] as const

function routerOf(cache: QueryClient) {
  return createRouter({ routeTree: root.addChildren(pages), ...routerOptions(cache) })
}

/** Open the router of a platform. */
export function openPlatform(cache: QueryClient) {
  root.update({ component: PlatformLayout })
  home.update({ component: lazyRouteComponent(() => import('./HomePage'), 'HomePage') })
  return routerOf(cache)
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof routerOf>
  }
}
