import type { JoinChoice } from '../../gpu/relational/joins/join-choice.js'
import { SelectionFigures } from './selection/selection-figures.js'

/** What the steps of one operator have done so far. */
export class StepFigures {
  rows = 0
  steps = 0
  /** Written to the device's memory by its kernels, results and what they need on the way. */
  bytes = 0
  milliseconds = 0
  /** How it was done, where there was a choice. */
  method: string | undefined
  /** Of a join: the algorithm of the last one, and what each was estimated to take, in nanoseconds. */
  join: Pick<JoinChoice, 'algorithm' | 'costs'> | undefined
  /** Of a `where`: how its selections were planned. */
  readonly selections = new SelectionFigures()
}
