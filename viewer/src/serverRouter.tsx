/** The pages of a server by address: those of the record, and its own; each is loaded when it is first opened. */
import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { readDeviceSearch } from './account/search'
import { readAdminSearch } from './admin/search'
import { readConfigurationSearch } from './configuration/search'
import { readDatasetSearch } from './datasets/search'
import { readDomainsSearch } from './domain/search'
import { ToDomain } from './domain/ToDomain'
import { ToDomains } from './domain/ToDomains'
import { readEnvironmentsSearch } from './environments/search'
import { readLaunchSearch } from './launch/search'
import { benchmark, benchmarks, home, recordPages, root, routerOptions } from './router'
import { readSchedulesSearch } from './schedules/search'
import { readSecretsSearch } from './secrets/search'
import { readSignInSearch } from './session/search'
import { readTeamsSearch } from './teams/search'

const getParentRoute = () => root

const signIn = createRoute({
  getParentRoute,
  path: '/sign-in',
  validateSearch: readSignInSearch,
  component: lazyRouteComponent(() => import('./session/SignInPage'), 'SignInPage'),
})

const gallery = createRoute({
  getParentRoute,
  path: '/gallery',
  component: lazyRouteComponent(() => import('./gallery/GalleryPage'), 'GalleryPage'),
})

const domains = createRoute({
  getParentRoute,
  path: '/domains',
  validateSearch: readDomainsSearch,
  component: lazyRouteComponent(() => import('./domain/DomainsPage'), 'DomainsPage'),
})

const domain = createRoute({
  getParentRoute,
  path: '/domains/$domainId',
  component: lazyRouteComponent(() => import('./domain/DomainPage'), 'DomainPage'),
})

const environments = createRoute({
  getParentRoute,
  path: '/environments',
  validateSearch: readEnvironmentsSearch,
  component: lazyRouteComponent(() => import('./environments/EnvironmentsPage'), 'EnvironmentsPage'),
})

const submit = createRoute({
  getParentRoute,
  path: '/environments/new',
  component: lazyRouteComponent(() => import('./environments/SubmitPage'), 'SubmitPage'),
})

const environment = createRoute({
  getParentRoute,
  path: '/environments/$environmentId',
  component: lazyRouteComponent(() => import('./environments/EnvironmentPage'), 'EnvironmentPage'),
})

const newRun = createRoute({
  getParentRoute,
  path: '/new-run',
  validateSearch: readLaunchSearch,
  component: lazyRouteComponent(() => import('./launch/NewRunPage'), 'NewRunPage'),
})

const teams = createRoute({
  getParentRoute,
  path: '/teams',
  validateSearch: readTeamsSearch,
  component: lazyRouteComponent(() => import('./teams/TeamsPage'), 'TeamsPage'),
})

const team = createRoute({
  getParentRoute,
  path: '/teams/$teamId',
  component: lazyRouteComponent(() => import('./teams/TeamPage'), 'TeamPage'),
})

const workspaces = createRoute({
  getParentRoute,
  path: '/workspaces',
  component: lazyRouteComponent(() => import('./workspaces/WorkspacesPage'), 'WorkspacesPage'),
})

const workspace = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId',
  component: lazyRouteComponent(() => import('./workspaces/WorkspacePage'), 'WorkspacePage'),
})

const members = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/members',
  component: lazyRouteComponent(() => import('./workspaces/MembersPage'), 'MembersPage'),
})

const rollouts = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/rollouts',
  component: lazyRouteComponent(() => import('./rollouts/RolloutsPage'), 'RolloutsPage'),
})

const allRollouts = createRoute({
  getParentRoute,
  path: '/rollouts',
  component: lazyRouteComponent(() => import('./rollouts/AllRolloutsPage'), 'AllRolloutsPage'),
})

const allDatasets = createRoute({
  getParentRoute,
  path: '/datasets',
  component: lazyRouteComponent(() => import('./datasets/AllDatasetsPage'), 'AllDatasetsPage'),
})

const rollout = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/rollouts/$rollout',
  component: lazyRouteComponent(() => import('./rollouts/RolloutPage'), 'RolloutPage'),
})

const configuration = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/configuration',
  validateSearch: readConfigurationSearch,
  component: lazyRouteComponent(() => import('./configuration/ConfigurationPage'), 'ConfigurationPage'),
})

const datasets = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/datasets',
  component: lazyRouteComponent(() => import('./datasets/DatasetsPage'), 'DatasetsPage'),
})

const dataset = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/datasets/$datasetId',
  validateSearch: readDatasetSearch,
  component: lazyRouteComponent(() => import('./datasets/DatasetPage'), 'DatasetPage'),
})

const secrets = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/secrets',
  validateSearch: readSecretsSearch,
  component: lazyRouteComponent(() => import('./secrets/SecretsPage'), 'SecretsPage'),
})

const repository = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/repository',
  component: lazyRouteComponent(() => import('./repository/RepositoryPage'), 'RepositoryPage'),
})

const sync = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/repository/syncs/$number',
  component: lazyRouteComponent(() => import('./repository/SyncPage'), 'SyncPage'),
})

const schedules = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/schedules',
  validateSearch: readSchedulesSearch,
  component: lazyRouteComponent(() => import('./schedules/SchedulesPage'), 'SchedulesPage'),
})

const schedule = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/schedules/$scheduleId',
  component: lazyRouteComponent(() => import('./schedules/SchedulePage'), 'SchedulePage'),
})

const notifications = createRoute({
  getParentRoute,
  path: '/workspaces/$workspaceId/notifications',
  component: lazyRouteComponent(() => import('./notifications/NotificationsPage'), 'NotificationsPage'),
})

const account = createRoute({
  getParentRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/AccountPage'), 'AccountPage'),
})

const device = createRoute({
  getParentRoute,
  path: '/device',
  validateSearch: readDeviceSearch,
  component: lazyRouteComponent(() => import('./account/DevicePage'), 'DevicePage'),
})

const admin = createRoute({
  getParentRoute,
  path: '/admin',
  validateSearch: readAdminSearch,
  component: lazyRouteComponent(() => import('./admin/AdminPage'), 'AdminPage'),
})

const pages = [
  ...recordPages,
  ...([signIn, gallery, domains, domain, environments, submit, environment] as const),
  ...([newRun, teams, team, account, device, admin] as const),
  ...([workspaces, workspace, datasets, dataset, secrets, repository, sync] as const),
  ...([schedules, schedule, notifications, members, rollouts, rollout, configuration] as const),
  ...([allRollouts, allDatasets] as const),
] as const

function routerOf(cache: QueryClient) {
  return createRouter({ routeTree: root.addChildren(pages), ...routerOptions(cache) })
}

/** Open the router of a server. */
export function openServer(cache: QueryClient) {
  home.update({ component: lazyRouteComponent(() => import('./gallery/HomePage'), 'HomePage') })
  benchmarks.update({ component: ToDomains })
  benchmark.update({ component: ToDomain })
  return routerOf(cache)
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof routerOf>
  }
}
