import { describe, expect, it } from 'vitest'
import { chosenKind, isChosen, kindFilter, kindWords, pointsWords, shareWords } from './words'

describe('groups of wrong answers', () => {
  it('have names, those without a value too', () => {
    expect(kindWords('mistake', 'Left out a step')).toBe('Left out a step')
    expect(kindWords('behaviour', 'cut_off')).toBe('Cut off at the limit of tokens')
    expect(kindWords('behaviour', null)).toBe('Answered, but wrong')
    expect(kindWords('trial', '1')).toBe('Trial 1')
    expect(kindWords('answer', '')).toBe('Empty')
  })

  it('filter the table where it can tell them apart', () => {
    expect(kindFilter('mistake', 'A')).toEqual({ mistake: 'A' })
    expect(kindFilter('label:level', '2')).toEqual({ label: 'level=2' })
    expect(kindFilter('answer', '2')).toBe(null)
    expect(kindFilter('mistake', null)).toBe(null)
  })

  it('are chosen among wrong answers, and a second press takes that back', () => {
    const chosen = chosenKind({ q: 'x', behaviour: 'empty' }, 'mistake', 'A')
    expect(chosen).toEqual({ q: 'x', mistake: 'A', outcome: 'fail' })
    expect(isChosen(chosen, 'mistake', 'A')).toBe(true)
    expect(isChosen(chosen, 'mistake', 'B')).toBe(false)
    expect(chosenKind(chosen, 'mistake', 'A')).toEqual({ q: 'x' })
  })

  it('have a share with its interval', () => {
    expect(shareWords({ value: 0.243, low: 0.2151, high: 0.2729, weak: false, n: 861 })).toEqual({
      share: '24.3%',
      range: '21.5–27.3',
    })
  })

  it('differ from another run only beyond chance', () => {
    expect(pointsWords({ value: 0.004, low: -0.03, high: 0.04, weak: false, n: 2 }).beyond).toBe(false)
    expect(pointsWords({ value: -0.1, low: -0.13, high: -0.04, weak: false, n: 2 })).toEqual({
      points: '−10.0',
      beyond: true,
      title: '−13.0 to −4.0 points',
    })
    expect(pointsWords(null).points).toBe('')
  })
})
