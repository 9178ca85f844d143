import { describe, expect, it } from 'vitest'
import { metricWords } from './metrics'

describe('metricWords', () => {
  it('says what a metric is', () => {
    const [rate, cost] = metricWords([
      { name: 'goal_rate', score: 'goal', aggregation: 'pass_rate', threshold: 0.5, low: 0, high: 1, primary: true },
      { name: 'cost', score: 'cost', higher_is_better: false },
    ])
    expect(rate).toEqual({
      name: 'goal_rate',
      meaning: 'share of episodes with goal above 0.5',
      range: '0 to 1',
      better: 'higher',
      primary: true,
    })
    expect(cost).toEqual({
      name: 'cost',
      meaning: 'mean of cost over the episodes',
      range: '',
      better: 'lower',
      primary: false,
    })
  })

  it('passes over anything else', () => {
    expect(metricWords(undefined)).toEqual([])
    expect(metricWords([null, 3, [], { name: 4 }])).toEqual([])
  })
})
