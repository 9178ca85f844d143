import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { CompareHeadline } from './CompareHeadline'
import { pairFixture } from './ComparePairFixture'
import type { Direction, Pair } from './CompareVerdict'

const labels = new Map([
  ['run-a', { letter: 'A', name: 'small', colour: '' }],
  ['run-b', { letter: 'B', name: 'large', colour: '' }],
])

function sentence(changes: Partial<Pair>, direction: Direction = true) {
  const pair = pairFixture(changes)
  const { container } = render(<CompareHeadline pair={pair} labels={labels} direction={direction} />)
  return container.textContent
}

describe('the headline', () => {
  it('says who is better, by how much, and on what basis', () => {
    expect(sentence({})).toBe('Blarge is better than Asmall by 0.100 [0.020, 0.180], p = 0.020, 100 tasks paired.')
  })

  it('turns the numbers round when the baseline is better', () => {
    expect(sentence({ winner: 'a', delta: -0.1, low: -0.18, high: -0.02 })).toBe(
      'Asmall is better than Blarge by 0.100 [0.020, 0.180], p = 0.020, 100 tasks paired.',
    )
  })

  it('calls a tie a tie and says what could have been shown', () => {
    expect(sentence({ winner: 'tie', low: -0.02, high: 0.22, p_adjusted: 0.3 })).toBe(
      'Tie: Blarge scored better than Asmall by 0.100 [−0.020, 0.220], but the difference is not significant, ' +
        'p = 0.30, 100 tasks paired. 100 tasks can detect a difference of 0.120.',
    )
  })

  it('knows that lower can be better', () => {
    expect(sentence({ winner: 'tie' }, false)).toContain('Asmall scored better than Blarge')
  })

  it('says only which run is higher where no direction is declared', () => {
    expect(sentence({}, null)).toContain('Blarge is higher than Asmall by 0.100')
    expect(sentence({ winner: 'tie', delta: -0.1, low: -0.2, high: 0 }, null)).toContain(
      'Asmall scored higher than Blarge',
    )
    expect(sentence({}, null)).not.toContain('better')
  })

  it('says that different tasks are compared unpaired', () => {
    expect(sentence({ paired: false, n_b: 60 })).toContain('unpaired: 100 and 60 different tasks')
  })

  it('says that scores of more tasks than were compared may differ where the difference is none', () => {
    const counts = { a_better: 0, b_better: 0, same: 40, flipped: 0, only_a: 20, only_b: 0 }
    const words = sentence({ winner: 'tie', delta: 0, low: -0.03, high: 0.03, n_a: 40, n_b: 40, counts })
    expect(words).toContain('have the same score on 40 tasks that both runs scored')
    expect(words).toContain('The overall scores also include 20 tasks scored only by A.')
  })

  it('says when both have the same score', () => {
    expect(sentence({ winner: 'tie', delta: 0, low: -0.03, high: 0.03 })).toContain(
      'Asmall and Blarge have the same score',
    )
  })
})
