/** What stands at a tick of a time axis: the coarsest part that this moment begins, by the clock of 24 hours. */
export function timeTick(time: Date): string {
  const form = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options).format(time)
  if (time.getMilliseconds() !== 0) return `.${String(time.getMilliseconds()).padStart(3, '0')}`
  if (time.getSeconds() !== 0) return form({ hour: '2-digit', minute: '2-digit', second: '2-digit' })
  if (time.getHours() !== 0 || time.getMinutes() !== 0) return form({ hour: '2-digit', minute: '2-digit' })
  if (time.getDate() !== 1) return form({ day: 'numeric', month: 'short' })
  return time.getMonth() !== 0 ? form({ month: 'long' }) : form({ year: 'numeric' })
}
