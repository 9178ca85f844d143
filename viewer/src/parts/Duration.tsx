import { duration } from '../format'
import { Num } from './Num'

/** A length of time given in seconds; all digits on hover. */
export function Duration({ seconds }: { seconds: number | null | undefined }) {
  return <Num value={seconds} form={duration} unit="s" />
}
