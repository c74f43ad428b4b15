import type { JoinChoice } from '../../gpu/relational/joins/join-choice.js'
import { SelectionFigures } from './selection/selection-figures.js'

/** What the steps of one operator have done so far. */
export class StepFigures {
  rows = 0
  steps = 0
  /** What its kernels read of the device's memory, and wrote there: results and what they need on the way. */
  bytesRead = 0
  bytesWritten = 0
  milliseconds = 0
  /** How it was done, where there was a choice. */
  method: string | undefined
  /** Of a join: the algorithm of the last one, and what each was estimated to take, in nanoseconds. */
  join: Pick<JoinChoice, 'algorithm' | 'costs'> | undefined
  /** Of a `where`: how its selections were planned. */
  readonly selections = new SelectionFigures()
}
