import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type AnyRouter, RouterProvider } from '@tanstack/react-router'
import { useState } from 'react'
import { openCache } from './api/query'
import { ToastProvider } from './parts/ToastProvider'

/** The whole app: cache, notices, pages. */
export function App({ open }: { open: (cache: QueryClient) => AnyRouter }) {
  const [cache] = useState(openCache)
  const [router] = useState(() => open(cache))
  return (
    <QueryClientProvider client={cache}>
      <ToastProvider>
        <RouterProvider router={router} />
      </ToastProvider>
    </QueryClientProvider>
  )
}
