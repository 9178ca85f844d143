/** Documents about what came of a rollout, by short names. */

import type { Schema } from '../../api/types'

export type Results = Schema<'RunResultsDocument'>
export type Counts = Schema<'ResultCounts'>
export type RewardFigures = Schema<'SpreadDocument'>
export type Passes = Schema<'PassesDocument'>
export type Chance = Schema<'ChanceDocument'>
export type Label = Schema<'LabelDocument'>
export type Slices = Schema<'RunSlices'>
export type Slice = Schema<'SliceDocument'>
export type Part = Schema<'PartDocument'>
