/** The part of a failure's message that matters, for a short line. */

/** Where and after how long something was asked for, and the number that it was answered with. */
const ASKED = /^(?:GET|POST|PUT|PATCH|DELETE|HEAD) https?:\/\/\S+?(?: after [\d.]+ ?(?:ms|s|m))?:\s+/
const ANSWERED = /^status \d{3}:\s+/

/** The message from where it says what happened, at most `most` characters; one that says nothing else is kept. */
export function gist(message: string, most = 300): string {
  const start = message.slice(0, 2_000 + most)
  const asked = start.replace(ASKED, '')
  const said = asked === start ? start : asked.replace(ANSWERED, '')
  return (said.trim() === '' ? start : said).slice(0, most)
}
