import './theme/tokens.css'
import './theme/base.css'
import './theme/shapes.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './App'
import { place } from './place'
import { openRouter } from './router'
import { applyMode } from './theme/mode'

applyMode()
const root = document.getElementById('root')
if (root) {
  const open = place.mode === 'platform' ? (await import('./platform/router')).openPlatform : openRouter
  createRoot(root).render(
    <StrictMode>
      <App open={open} />
    </StrictMode>,
  )
}
