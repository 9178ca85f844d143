/** Whether the pages of the bar have to fold into a menu. */
import { type RefObject, useLayoutEffect, useState } from 'react'

/**
 * True where the parts of the bar do not fit beside each other. How wide they are depends on who looks (an administrator
 * has more pages) and on the length of the name, so it is measured; parts with `data-instead` stand in for others.
 */
export function useFolded(bar: RefObject<HTMLElement | null>): boolean {
  const [folded, setFolded] = useState(false)
  useLayoutEffect(() => {
    const element = bar.current
    if (element === null) return
    const parts = [...element.children].filter(
      (part): part is HTMLElement => part instanceof HTMLElement && part.dataset.instead === undefined,
    )
    const measure = () => {
      const { paddingLeft, paddingRight, columnGap } = getComputedStyle(element)
      const room = element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
      const gaps = Number.parseFloat(columnGap) * (parts.length - 1)
      setFolded(parts.reduce((sum, part) => sum + part.offsetWidth, gaps) > room)
    }
    const observer = new ResizeObserver(measure)
    for (const part of [element, ...parts]) observer.observe(part)
    measure()
    return () => observer.disconnect()
  }, [bar])
  return folded
}
