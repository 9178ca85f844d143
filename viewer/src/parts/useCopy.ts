import { useEffect, useState } from 'react'

/** Copying to the clipboard: what came of it, for a moment, and the way to do it. */
export function useCopy(): [told: 'copied' | 'refused' | undefined, copy: (text: string) => void] {
  const [told, setTold] = useState<'copied' | 'refused'>()
  useEffect(() => {
    if (!told) return
    const timer = setTimeout(() => setTold(undefined), 1_500)
    return () => clearTimeout(timer)
  }, [told])
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text)
      setTold('copied')
    } catch {
      setTold('refused')
    }
  }
  return [told, (text) => void copy(text)]
}
