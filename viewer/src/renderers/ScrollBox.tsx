import type { ReactNode, Ref } from 'react'

interface ScrollBoxProps {
  ref?: Ref<HTMLDivElement>
  label: string
  className?: string
  children: ReactNode
}

/** A box that scrolls, which the keyboard can reach. */
export function ScrollBox({ ref, label, className, children }: ScrollBoxProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div ref={ref} className={className} role="group" aria-label={label} tabIndex={0} dir="ltr">
      {children}
    </div>
  )
}
