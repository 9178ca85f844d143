/** Where one goes on after signing in: a page of the app, never another site. */

/** The page to go on with, `/` when what is given is none of ours. */
export function nextPage(given: string | undefined): string {
  return given !== undefined && /^\/(?![/\\])/.test(given) && !hasControl(given) ? given : '/'
}

/** Load a page anew, so that nothing of another user's session remains. */
export function openPage(page: string): void {
  window.location.assign(new URL(`.${nextPage(page)}`, document.baseURI))
}

function hasControl(text: string): boolean {
  return [...text].some((letter) => letter < ' ')
}
