import { type RefObject, useLayoutEffect, useState } from 'react'

/** Inner size of an element in pixels, followed as it changes; zeros before it is known. */
export function useSize(element: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const target = element.current
    if (!target) return
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = target
      setSize((known) => (known.width === width && known.height === height ? known : { width, height }))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(target)
    return () => observer.disconnect()
  }, [element])
  return size
}
