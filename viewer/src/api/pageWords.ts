/** What a server tells its visitors to do: it names commands of the terminal, where this app has pages. */

const PAGES: readonly (readonly [RegExp, string])[] = [
  [/`mesocosm env list`/g, 'the page “Environments”'],
  [/see `mesocosm env logs [^`]*`/g, 'its page under “Environments” shows why'],
  [/with `mesocosm env submit`/g, 'on the page “Environments”'],
  [/`mesocosm run list --remote`/g, 'the page “Runs”'],
  [/look at it with `mesocosm run watch [^`]*`/g, 'its page shows the progress'],
  [/`mesocosm run watch [^`]*`/g, "the run's page"],
  [/`mesocosm domain list`/g, 'the page “Leaderboards”'],
  [/`mesocosm team list`/g, 'the page “Teams”'],
  [/`mesocosm models`/g, 'the form of a new run'],
  [/`mesocosm admin user list`/g, '“Users” in the administration'],
]

/** Say the name of a page in the place of the command that shows the same. */
export function pageWords(words: string): string {
  return PAGES.reduce((said, [command, page]) => said.replace(command, page), words)
}
