import styles from './board.module.css'
import type { Tile } from './tiles'

/** A tile drawn; the cell's own text lies over it unseen, to be copied and read out. */
export function TileMark({ tile, letter, text }: { tile: Tile; letter: string; text: string }) {
  const { body, colour, mark, solid } = tile
  const light = colour === '#f4f6f5'
  const lines = body === undefined ? colour : light ? '#4a5557' : '#ffffff'
  return (
    <span className={styles.tile}>
      <svg viewBox="0 0 16 16" aria-hidden="true" className={styles.drawn} data-light={light || undefined}>
        {body === 'square' && <rect x="0.5" y="0.5" width="15" height="15" rx="2" fill={colour} />}
        {body === 'circle' && <circle cx="8" cy="8" r="6.5" fill={colour} />}
        {mark !== undefined && (
          <path
            d={mark}
            fill={solid ? lines : 'none'}
            stroke={lines}
            strokeWidth={body === undefined ? 1.4 : 1.2}
            strokeLinecap="round"
            strokeLinejoin="round"
          />
        )}
        {letter !== '' && (
          <text x="8" y="11.4" textAnchor="middle" fill={lines}>
            {letter}
          </text>
        )}
      </svg>
      <span className={styles.unseen}>{text}</span>
    </span>
  )
}
