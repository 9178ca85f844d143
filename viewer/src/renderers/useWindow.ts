import { type RefObject, useEffect, useRef, useState } from 'react'

/** Rows of one height in a box of its own, of which only those in sight are laid out. */
interface RowWindow<Box extends HTMLElement> {
  box: RefObject<Box | null>
  first: number
  /** The row after the last one that is laid out. */
  end: number
  /** Heights that stand for the rows before and after, in pixels. */
  before: number
  after: number
  scrollTo: (row: number) => void
}

const AROUND = 12

/** Follow the scrolling of a box of `count` rows of `height` pixels each. */
export function useWindow<Box extends HTMLElement>(count: number, height: number): RowWindow<Box> {
  const box = useRef<Box>(null)
  const [range, setRange] = useState({ first: 0, end: Math.min(count, 60) })
  useEffect(() => {
    const element = box.current
    if (!element) return
    let frame = 0
    const look = () => {
      frame = 0
      const first = Math.max(Math.floor(element.scrollTop / height) - AROUND, 0)
      const end = Math.min(Math.ceil((element.scrollTop + (element.clientHeight || 800)) / height) + AROUND, count)
      setRange((now) => (now.first === first && now.end === end ? now : { first, end }))
    }
    const later = () => {
      frame ||= requestAnimationFrame(look)
    }
    look()
    element.addEventListener('scroll', later, { passive: true })
    const observer = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(later)
    observer?.observe(element)
    return () => {
      cancelAnimationFrame(frame)
      element.removeEventListener('scroll', later)
      observer?.disconnect()
    }
  }, [count, height])
  const first = Math.min(range.first, Math.max(count - 1, 0))
  const end = Math.min(range.end, count)
  return {
    box,
    first,
    end,
    before: first * height,
    after: Math.max(count - end, 0) * height,
    scrollTo: (row) => box.current?.scrollTo({ top: row * height - height * 3 }),
  }
}
