import type { Device, Kernels } from '../../../device/device.js'
import type { Arena } from '../../arena.js'
import type { BatchWork } from '../../batch/work.js'
import type { Builder } from '../../delta/build.js'
import { Neighbours } from '../../delta/neighbours.js'
import type { TreeShape } from '../../layout.js'

/** Builds `full` trees over keys of variable length, with a node for every digit of every key. */
export class ChainBuilder implements Builder {
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels<'count_chains' | 'hang_chains'>

  constructor(device: Device, { conditions }: TreeShape) {
    const module = 'index/partitions/full/build-chains'
    this.#neighbours = new Neighbours(device, conditions)
    this.#kernels = device.kernels(module, ['count_chains', 'hang_chains'], conditions)
  }

  plan(work: BatchWork, bound: number): undefined {
    this.#neighbours.record(work, bound)
    work.words('nodeRanks', bound)
    work.words('owners', bound)
    work.dispatch(this.#kernels.count_chains, bound, { count: bound })
    work.scan('nodeRanks', 'nodes', bound)
  }

  record(work: BatchWork, _arena: Arena, count: number, firstNode: number): void {
    work.dispatch(this.#kernels.hang_chains, count, { count, firstNode })
  }
}
