/** Foreign text may be of any length; what nobody can read in a row is left out. */

/** The first `most` characters, with an ellipsis when there are more. */
export function clip(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
