import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useState } from 'react'
import { openCache } from './api/query'
import { ToastProvider } from './parts/ToastProvider'
import { openRouter } from './router'

/** The whole app: cache, notices, pages. */
export function App() {
  const [cache] = useState(openCache)
  const [router] = useState(() => openRouter(cache))
  return (
    <QueryClientProvider client={cache}>
      <ToastProvider>
        <RouterProvider router={router} />
      </ToastProvider>
    </QueryClientProvider>
  )
}
