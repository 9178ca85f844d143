import { useEffect, useEffectEvent, useState } from 'react'

type Side = 'previous' | 'next'

/** Return a function that goes to a side: at once, or as soon as `waiting` is over; the last press counts. */
export function usePressed(waiting: boolean, go: (side: Side) => void): (side: Side) => void {
  const [pressed, setPressed] = useState<Side>()
  const goNow = useEffectEvent(go)
  useEffect(() => {
    if (waiting || pressed === undefined) return
    setPressed(undefined)
    goNow(pressed)
  }, [waiting, pressed])
  return setPressed
}
