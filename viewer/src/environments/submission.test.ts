import { expect, it } from 'vitest'
import { EMPTY, submissionBody, submissionProblems, submitCommand } from './submission'

const FULL = { ...EMPTY, name: ' Word game ', github_url: 'you/words', folder: 'env', team_id: 't1' }

it('names what is missing', () => {
  expect(Object.keys(submissionProblems(EMPTY))).toEqual(['github_url', 'name'])
  expect(submissionProblems(FULL)).toEqual({})
})

it('refuses what could not be cloned or lies outside', () => {
  expect(submissionProblems({ ...FULL, github_url: 'git@github.com:you/words' }).github_url).toContain('https')
  expect(submissionProblems({ ...FULL, folder: '../other' }).folder).toContain('inside')
})

it('sends what is empty as nothing', () => {
  expect(submissionBody(FULL)).toEqual({
    name: 'Word game',
    description: '',
    github_url: 'you/words',
    team_id: 't1',
    ref: null,
    folder: 'env',
  })
})

it('tells the command that does the same', () => {
  expect(submitCommand(FULL)).toBe(
    "mesocosm env submit --name 'Word game' --github-url you/words --folder env --team t1",
  )
  expect(submitCommand(EMPTY)).toBe('mesocosm env submit --name NAME --github-url URL')
})
