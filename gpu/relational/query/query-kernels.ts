import type { Device } from '../../device/device.js'
import { Primitives } from '../../primitives/primitives.js'
import { Joins } from '../joins/joins.js'
import { Selections } from '../selection/selections.js'
import { AppendBits } from './append-bits.js'
import { DifferingBits } from './differing-bits.js'
import { Evaluation } from './evaluate.js'
import { Fetch } from './fetch.js'
import { FinishSums } from './finish-sums.js'
import { GroupStarts } from './group-starts.js'
import { RowPairsWriter } from './row-pairs.js'
import { SetMembers } from './set-members.js'

interface Parts {
  readonly primitives: Primitives
  readonly evaluation: Evaluation
  readonly fetch: Fetch
  readonly differingBits: DifferingBits
  readonly groupStarts: GroupStarts
  readonly appendBits: AppendBits
  readonly finishSums: FinishSums
  readonly setMembers: SetMembers
  readonly rowPairs: RowPairsWriter
  readonly joins: Joins
  readonly selections: Selections
}

/** The kernels that queries need beside each other, made once for a device. */
export class QueryKernels {
  readonly primitives: Primitives
  readonly evaluation: Evaluation
  readonly fetch: Fetch
  readonly differingBits: DifferingBits
  readonly groupStarts: GroupStarts
  readonly appendBits: AppendBits
  readonly finishSums: FinishSums
  readonly setMembers: SetMembers
  readonly rowPairs: RowPairsWriter
  readonly joins: Joins
  readonly selections: Selections

  private constructor(parts: Parts) {
    this.primitives = parts.primitives
    this.evaluation = parts.evaluation
    this.fetch = parts.fetch
    this.differingBits = parts.differingBits
    this.groupStarts = parts.groupStarts
    this.appendBits = parts.appendBits
    this.finishSums = parts.finishSums
    this.setMembers = parts.setMembers
    this.rowPairs = parts.rowPairs
    this.joins = parts.joins
    this.selections = parts.selections
  }

  /** @param primitives what the device's other users have, if there are any */
  static async create(device: Device, primitives?: Primitives): Promise<QueryKernels> {
    const making = primitives ?? Primitives.create(device)
    const [
      made,
      evaluation,
      fetch,
      differingBits,
      groupStarts,
      appendBits,
      finishSums,
      setMembers,
      rowPairs,
      joins,
      selections,
    ] = await Promise.all([
      making,
      Evaluation.create(device),
      Fetch.create(device),
      DifferingBits.create(device),
      GroupStarts.create(device),
      AppendBits.create(device),
      FinishSums.create(device),
      SetMembers.create(device),
      RowPairsWriter.create(device),
      Promise.resolve(making).then((made) => Joins.create(device, made)),
      Selections.create(device),
    ])
    const read = { evaluation, fetch, differingBits, groupStarts }
    return new QueryKernels({
      primitives: made,
      ...read,
      appendBits,
      finishSums,
      setMembers,
      rowPairs,
      joins,
      selections,
    })
  }
}
