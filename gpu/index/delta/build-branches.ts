import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'
import type { Builder } from './build.js'
import { Neighbours } from './neighbours.js'

/** Builds over keys of variable length, with nodes only where they part. */
export class BranchBuilder implements Builder {
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels<'find_branches' | 'hang_entries'>

  constructor(device: Device, { conditions }: TreeShape) {
    const entryPoints = ['find_branches', 'hang_entries'] as const
    this.#neighbours = new Neighbours(device, conditions)
    this.#kernels = device.kernels('index/delta/build-branches', entryPoints, conditions)
  }

  plan(work: BatchWork, bound: number): undefined {
    this.#neighbours.record(work, bound)
    for (const name of ['lefts', 'parents', 'nodeRanks']) work.words(name, bound)
    work.dispatch(this.#kernels.find_branches, bound, { count: bound })
    work.scan('nodeRanks', 'nodes', bound)
  }

  record(work: BatchWork, _arena: Arena, count: number, firstNode: number): void {
    work.dispatch(this.#kernels.hang_entries, count, { count, firstNode })
  }
}
