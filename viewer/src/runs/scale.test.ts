import { expect, it } from 'vitest'
import { metricFixture, runFixture } from './runFixture'
import { scaleKey, scalesOf } from './scale'

it('draws all runs of a benchmark on one scale', () => {
  const steps = (value: number, low: number, high: number) =>
    runFixture({ benchmark: 'maze', primary: metricFixture({ name: 'steps', value, low, high }) })
  const runs = [runFixture(), steps(12, 10, 14), steps(-1, -3, 1), runFixture({ benchmark: 'none', primary: null })]
  const scales = scalesOf(runs)
  expect(scales.get(scaleKey(runFixture()))).toEqual([0, 1])
  expect(scales.get(scaleKey(steps(1, 1, 1)))).toEqual([-3, 14])
  expect(scales.size).toBe(2)
})
