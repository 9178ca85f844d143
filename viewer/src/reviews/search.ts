/** What of the pages of reviews lives in their addresses. */
import { index, oneOf, type RawSearch, texts } from '../search'

/** The runs of a new round. */
export interface ReviewsSearch {
  run?: string[]
}

/** Read the address of the list. */
export function readReviewsSearch(raw: RawSearch): ReviewsSearch {
  return { run: texts(raw.run)?.slice(0, 50) }
}

/** The item that is to be settled; without one, the next is judged. */
export interface RoundSearch {
  settle?: number
}

/** Read the address of a round. */
export function readRoundSearch(raw: RawSearch): RoundSearch {
  return { settle: index(raw.settle) }
}

/** Which items of the agreement are shown. */
export const SHOWN = ['disputed', 'against', 'all'] as const

/** The items that are listed, and, of `against`, the grader. */
export interface AgreementSearch {
  show?: (typeof SHOWN)[number]
  grader?: string
}

/** Read the address of the agreement. */
export function readAgreementSearch(raw: RawSearch): AgreementSearch {
  return { show: oneOf(raw.show, SHOWN), grader: texts(raw.grader)?.[0] }
}
