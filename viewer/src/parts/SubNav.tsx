import { type ReactNode, useLayoutEffect, useRef } from 'react'
import styles from './SubNav.module.css'

/** Links to pages that belong together; where there is no room for all, that which is shown is in view. */
export function SubNav({ label, children }: { label: string; children: ReactNode }) {
  const nav = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const here = nav.current?.querySelector<HTMLElement>('[aria-current=page]')
    // Not scrollIntoView, which may also scroll the page.
    if (nav.current && here) nav.current.scrollLeft = here.offsetLeft + (here.offsetWidth - nav.current.clientWidth) / 2
  }, [])
  return (
    <nav ref={nav} aria-label={label} className={styles.nav}>
      {children}
    </nav>
  )
}
