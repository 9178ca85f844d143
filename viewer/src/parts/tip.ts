/** What a hint says, and where it stands. */

/** Pixels between a hint and what it is about, and between it and the edges of the window. */
const GAP = 6
/** Wider elements have their hint where the pointer is. */
const WIDE = 240

/** What the hint of an element says; nothing where it would only repeat what can be read in full. */
export function tipOf(anchor: HTMLElement): string {
  const { tip, full } = anchor.dataset
  if (tip !== undefined) return tip.trim()
  return full !== undefined && isCut(anchor, full) ? full.trim() : ''
}

/** Whether a part of a text is out of sight: left out, or hidden by a box that is too small. */
function isCut(anchor: HTMLElement, full: string): boolean {
  if (!plain(anchor.textContent ?? '').includes(plain(full))) return true
  const around = [anchor.parentElement, anchor.parentElement?.parentElement].filter((one) => one != null)
  return [anchor, ...anchor.querySelectorAll('*'), ...around].some(
    (box) =>
      box.clientWidth > 0 &&
      (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 2) &&
      hides(box),
  )
}

function hides(box: Element): boolean {
  const { overflowX, overflowY } = getComputedStyle(box)
  return overflowX !== 'visible' || overflowY !== 'visible'
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Put a hint below what it is about, above where there is no room, and never beyond the window. */
export function placeTip(tip: HTMLElement, anchor: DOMRect, x?: number): void {
  const middle = x !== undefined && anchor.width > WIDE ? x : anchor.left + Math.min(anchor.width, WIDE) / 2
  const left = Math.min(middle - tip.offsetWidth / 2, window.innerWidth - tip.offsetWidth - GAP)
  const below = anchor.bottom + GAP
  const fits = below + tip.offsetHeight + GAP <= window.innerHeight
  const top = fits ? below : anchor.top - GAP - tip.offsetHeight
  tip.style.left = `${Math.max(GAP, left)}px`
  tip.style.top = `${Math.max(GAP, top)}px`
}
