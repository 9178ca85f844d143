import { useEffect, useRef, useState } from 'react'
import { useShortcut } from '../keys/useShortcut'
import styles from './Tips.module.css'
import { placeTip, tipOf } from './tip'

/** How long (ms) a pointer rests, or a finger stays, before a hint is shown; and how long it outlasts the pointer. */
const REST_MS = 350
const HOLD_MS = 450
const LINGER_MS = 120

const HINTED = '[data-tip], [data-full]'
const PRESSABLE = 'a[href], button, input, select, textarea, summary, label, [role=option], [role=menuitem], [role=tab]'
const LAYERED = typeof HTMLElement !== 'undefined' && 'showPopover' in HTMLElement.prototype

/** What shows a hint now, and where the pointer was. */
interface Shown {
  anchor: HTMLElement
  text: string
  x?: number
}

/**
 * The hints of the whole page, one at a time. An element has one in `data-tip`, or in `data-full` if it only says in full
 * what may be cut short; they are shown where a pointer rests, where the focus is, under a finger that stays (or taps what
 * does nothing else), and one after the other with `i`. Escape hides them.
 */
export function Tips() {
  const [shown, setShown] = useState<Shown>()
  const box = useRef<HTMLDivElement>(null)
  useListeners(box, setShown)
  useEffect(() => {
    const tip = box.current
    if (tip === null || shown === undefined) return
    if (LAYERED && !tip.matches(':popover-open')) tip.showPopover()
    placeTip(tip, shown.anchor.getBoundingClientRect(), shown.x)
    const { anchor, text } = shown
    // What is read out as its name anyway is not described once more.
    if (anchor.getAttribute('aria-label') === text) return
    const before = anchor.getAttribute('aria-describedby')
    anchor.setAttribute('aria-describedby', [before, tip.id].filter(Boolean).join(' '))
    return () => {
      if (before === null) anchor.removeAttribute('aria-describedby')
      else anchor.setAttribute('aria-describedby', before)
    }
  }, [shown])
  const walk = (by: 1 | -1) => {
    const next = neighbour(shown?.anchor, by)
    if (next === undefined) return
    focusOn(next.anchor)
    setShown(next)
  }
  useShortcut('i', 'Next hint', () => walk(1), { group: 'Everywhere', step: true })
  useShortcut('I', 'Previous hint', () => walk(-1), { group: 'Everywhere', step: true })
  if (shown === undefined) return null
  return (
    <div ref={box} id="tip" role="tooltip" popover={LAYERED ? 'manual' : undefined} className={styles.tip}>
      {shown.text}
    </div>
  )
}

function useListeners(
  box: React.RefObject<HTMLDivElement | null>,
  setShown: (change: (before: Shown | undefined) => Shown | undefined) => void,
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let held = false
    /** Whether a finger shows the hint: the focus that follows it says nothing. */
    let touched = false
    const later = (action: () => void, wait: number) => {
      clearTimeout(timer)
      timer = setTimeout(action, wait)
    }
    const show = (anchor: HTMLElement, x?: number) => {
      const text = tipOf(anchor)
      setShown(() => (text === '' || !anchor.isConnected ? undefined : { anchor, text, x }))
    }
    const hide = () => {
      clearTimeout(timer)
      setShown(() => undefined)
    }
    const over = ({ pointerType, target, clientX }: PointerEvent) => {
      if (pointerType === 'touch') return
      const anchor = hinted(target)
      if (anchor !== undefined) later(() => show(anchor, clientX), REST_MS)
      // A pointer may go onto the hint, to read or copy it.
      else if (target instanceof Node && box.current?.contains(target)) clearTimeout(timer)
      else later(() => setShown((before) => (before && isFocused(before.anchor) ? before : undefined)), LINGER_MS)
    }
    const down = ({ pointerType, target }: PointerEvent) => {
      if (target instanceof Node && box.current?.contains(target)) return
      hide()
      held = false
      touched = pointerType === 'touch'
      const anchor = hinted(target)
      if (pointerType !== 'touch' || anchor === undefined) return
      later(() => {
        held = true
        show(anchor)
      }, HOLD_MS)
    }
    const up = ({ pointerType, target }: PointerEvent) => {
      if (pointerType !== 'touch' || held) return
      clearTimeout(timer)
      const anchor = hinted(target)
      const acts = target instanceof Element && target.closest(`${PRESSABLE}, [data-opens]`) !== null
      if (anchor !== undefined && !acts) show(anchor)
    }
    /** A finger that stayed wanted to read, not to press. */
    const swallow = (event: Event) => {
      if (!held) return
      event.preventDefault()
      event.stopPropagation()
      held = event.type !== 'click'
    }
    const focus = ({ target }: FocusEvent) => {
      const anchor = hinted(target)
      if (anchor !== undefined && target instanceof Element && target.matches(':focus-visible')) show(anchor)
      else if (!touched) hide()
    }
    const blur = ({ target }: FocusEvent) => {
      if (target instanceof HTMLElement && target.dataset.tipFocus !== undefined) {
        target.removeAttribute('tabindex')
        delete target.dataset.tipFocus
      }
      if (!touched) hide()
    }
    const press = ({ key }: KeyboardEvent) => {
      if (!['Tab', 'Shift', 'Control', 'Alt', 'Meta', 'i', 'I'].includes(key)) hide()
    }
    const scroll = ({ target }: Event) => {
      if (target !== box.current) hide()
    }
    const listeners: [string, (event: never) => void][] = [
      ['pointerover', over],
      ['pointerdown', down],
      ['pointerup', up],
      ['pointercancel', () => clearTimeout(timer)],
      ['click', swallow],
      ['contextmenu', swallow],
      ['focusin', focus],
      ['focusout', blur],
      ['keydown', press],
      ['scroll', scroll],
    ]
    for (const [name, listener] of listeners) document.addEventListener(name, listener as EventListener, true)
    window.addEventListener('resize', hide)
    return () => {
      clearTimeout(timer)
      for (const [name, listener] of listeners) document.removeEventListener(name, listener as EventListener, true)
      window.removeEventListener('resize', hide)
    }
  }, [box, setShown])
}

function hinted(target: EventTarget | null): HTMLElement | undefined {
  return (target instanceof Element && target.closest<HTMLElement>(HINTED)) || undefined
}

function isFocused(anchor: HTMLElement): boolean {
  return anchor.contains(document.activeElement) && document.activeElement?.matches(':focus-visible') === true
}

/** The hint after (or before) the one that is shown, or after what has the focus: in a table the row that keys stand at. */
function neighbour(shown: HTMLElement | undefined, by: 1 | -1): Shown | undefined {
  const all = [...document.querySelectorAll<HTMLElement>(HINTED)].filter((one) => one.checkVisibility?.() !== false)
  const focus = document.activeElement
  const row = document.getElementById(focus?.getAttribute('aria-activedescendant') ?? '')
  const from = shown?.isConnected ? shown : (row ?? (focus === document.body ? null : focus))
  const way = by === 1 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING
  const ahead = from === null ? all : all.filter((one) => from.compareDocumentPosition(one) & way)
  for (const anchor of by === 1 ? ahead : ahead.reverse()) {
    const text = tipOf(anchor)
    if (text !== '') return { anchor, text }
  }
  return undefined
}

/** Give the focus to what shows a hint, so that it is read out; what cannot have it gets it for so long. */
function focusOn(anchor: HTMLElement): void {
  if (anchor.tabIndex < 0 && !anchor.hasAttribute('tabindex')) {
    anchor.tabIndex = -1
    anchor.dataset.tipFocus = ''
  }
  anchor.focus({ preventScroll: true })
  anchor.scrollIntoView?.({ block: 'nearest', inline: 'nearest' })
}
