import { type RefObject, useEffect } from 'react'

/** While something is open, calls `leave` when anything outside of it is pressed; `leave` must stay the same. */
export function useLeave(root: RefObject<HTMLElement | null>, open: boolean, leave: (open: false) => void): void {
  useEffect(() => {
    if (!open) return
    const press = (event: PointerEvent) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) leave(false)
    }
    document.addEventListener('pointerdown', press)
    return () => document.removeEventListener('pointerdown', press)
  }, [root, open, leave])
}
