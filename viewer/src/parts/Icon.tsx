/** The small set of pictures that the app uses, drawn on 16 units with the colour of the text. */

const SHAPES = {
  arrowDown: 'M8 3v10M4 9l4 4 4-4',
  arrowUp: 'M8 13V3M4 7l4-4 4 4',
  arrowLeft: 'M13 8H3M7 4 3 8l4 4',
  arrowRight: 'M3 8h10M9 4l4 4-4 4',
  back: 'M11 3 5 8l6 5zM4 3v10',
  blank: '',
  check: 'M3 8.5 6.5 12 13 4.5',
  chevronDown: 'M4 6l4 4 4-4',
  chevronLeft: 'M10 4 6 8l4 4',
  chevronRight: 'M6 4l4 4-4 4',
  chevronUp: 'M4 10l4-4 4 4',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.3',
  close: 'M4 4l8 8M12 4l-8 8',
  columns: 'M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9',
  compare: 'M5 3v10M11 3v10M2.5 5.5 5 3l2.5 2.5M8.5 10.5 11 13l2.5-2.5',
  copy: 'M5.5 5.5h7v7.5h-7zM10.5 5.5V3h-7v7.5h2',
  dark: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  dash: 'M4 8h8',
  download: 'M8 2.5v7M5 7l3 3 3-3M3 13h10',
  error: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  expand: 'M9.5 3H13v3.5M6.5 13H3V9.5M13 3 9 7M3 13l4-4',
  external: 'M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  forward: 'M5 3l6 5-6 5zM12 3v10',
  info: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11zM8 7.5v3M8 5.3v.1',
  keyboard: 'M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5.5 9.5h5',
  light:
    'M8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 0 0 0-5zM8 2v1M8 13v1M2 8h1M13 8h1M3.8 3.8l.7.7M11.5 11.5l.7.7M3.8 12.2l.7-.7M11.5 4.5l.7-.7',
  link: 'M7 9a2.5 2.5 0 0 0 3.6.1l2-2a2.5 2.5 0 0 0-3.6-3.6l-.9.9M9 7a2.5 2.5 0 0 0-3.6-.1l-2 2a2.5 2.5 0 0 0 3.6 3.6l.9-.9',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1',
  lost: 'M2 6.5a8.5 8.5 0 0 1 12 0M4.5 9a5 5 0 0 1 7 0M8 12h.1M3 13 13 3',
  menu: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  minus: 'M3.5 8h9',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3l8 5-8 5z',
  pages: 'M3 4.5h10M3 8h10M3 11.5h10',
  plus: 'M8 3.5v9M3.5 8h9',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9zM10.3 10.3 13.5 13.5',
  sort: 'M5 13V3M2.5 5.5 5 3l2.5 2.5M11 3v10M8.5 10.5 11 13l2.5-2.5',
  star: 'M8 2.5l1.7 3.5 3.8.6-2.8 2.7.7 3.8L8 11.3l-3.4 1.8.7-3.8L2.5 6.6 6.3 6z',
  stop: 'M4 4h8v8H4z',
  system: 'M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5',
  tag: 'M2.5 2.5H8l5.5 5.5L8 13.5 2.5 8zM5.5 5.5h.1',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9',
  warning: 'M8 2.5 14 13H2zM8 6.5v3M8 11.3v.1',
} as const

/** Names of the pictures. */
export type IconName = keyof typeof SHAPES

/** A picture beside a text (then it is silent) or instead of one (then it needs a label). */
export function Icon({ name, label, size = 16 }: { name: IconName; label?: string; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      role={label ? 'img' : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
      style={{ flex: 'none' }}
    >
      <path d={SHAPES[name]} />
    </svg>
  )
}
