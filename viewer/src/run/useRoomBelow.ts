/** How tall something may be to end with the window. */

import { type RefObject, useLayoutEffect, useState } from 'react'

/** A CSS length: from the top of the element to the bottom of the window, yet at least `least` (a CSS length). */
export function useRoomBelow(element: RefObject<HTMLElement | null>, least: string): string {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      const box = element.current?.getBoundingClientRect()
      if (box !== undefined) setTop(Math.round(box.top + window.scrollY))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [element])
  return `max(${least}, calc(100dvh - ${top}px - var(--space-4)))`
}
