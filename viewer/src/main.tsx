import './theme/tokens.css'
import './theme/base.css'
import './theme/shapes.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './App'
import { place } from './place'
import { openRouter } from './router'
import { applyMode } from './theme/mode'

/** Draw the app into the page; the pages of a server are only loaded where there is one. */
async function start(element: HTMLElement): Promise<void> {
  const open = place.mode === 'server' ? (await import('./serverRouter')).openServer : openRouter
  createRoot(element).render(
    <StrictMode>
      <App open={open} />
    </StrictMode>,
  )
}

applyMode()
const root = document.getElementById('root')
if (root) void start(root)
