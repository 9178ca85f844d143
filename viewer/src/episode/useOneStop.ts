/** One Tab stop for a list of many steps: arrow keys move inside it. */
import { type FocusEvent, type KeyboardEvent, type RefObject, useLayoutEffect, useState } from 'react'

interface OneStop {
  /** How many steps there are. */
  total: number
  /** The step that the page stands at: where Tab comes in. */
  step: number
  /** How many steps a page of the list holds. */
  page: number
  /** Bring a step into the list's view. */
  show: (step: number) => void
}

/**
 * The step that Tab reaches, which elements with `data-step` below `box` are; whether keys have moved away from where the
 * page stands; and what its list listens to.
 */
export function useOneStop(box: RefObject<HTMLElement | null>, { total, step, page, show }: OneStop) {
  // The step that was moved to, as long as the list has the focus.
  const [reached, setReached] = useState<number>()
  const [moved, setMoved] = useState(false)
  const stop = Math.max(0, Math.min(reached ?? step, total - 1))

  useLayoutEffect(() => {
    if (reached === undefined || !box.current?.contains(document.activeElement)) return
    box.current.querySelector<HTMLElement>(`[data-step="${reached}"]`)?.focus({ preventScroll: true })
  }, [box, reached])

  const onKeyDown = (event: KeyboardEvent) => {
    const target = {
      ArrowDown: stop + 1,
      ArrowUp: stop - 1,
      PageDown: stop + page,
      PageUp: stop - page,
      Home: 0,
      End: total - 1,
    }[event.key]
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    // The replay has shortcuts of the same keys.
    event.stopPropagation()
    const next = Math.max(0, Math.min(total - 1, target))
    setReached(next)
    setMoved(true)
    show(next)
  }
  const onFocus = ({ target }: FocusEvent<HTMLElement>) => {
    if (target.dataset.step !== undefined) setReached(Number(target.dataset.step))
  }
  const onBlur = ({ relatedTarget }: FocusEvent) => {
    if (box.current?.contains(relatedTarget)) return
    setReached(undefined)
    setMoved(false)
  }
  const onClick = () => setMoved(false)
  return { stop, moved, handlers: { onKeyDown, onFocus, onBlur, onClick } }
}
