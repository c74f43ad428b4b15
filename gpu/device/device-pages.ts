import { PagePool } from '../memory/page-pool.js'
import type { SlabMaker } from '../memory/slab-set.js'

/** Bytes of the largest slab that is made ahead of need. */
const SLAB_BYTES = { hardware: 2 ** 32, software: 64 * 2 ** 20 }

/** Bytes of each sort of slabs that are kept free ahead of need, at most. */
const RESERVE_BYTES = { hardware: 2 ** 28, software: 2 ** 20 }

/** What the pages of a device are made of. */
interface PagesDevice extends Omit<SlabMaker, 'mostBytes' | 'mostRunBytes'> {
  readonly limits: GPUSupportedLimits
  /** Bytes of the largest binding. */
  readonly bindingBytes: number
  readonly software: boolean
}

/** The pool of the memory of structures. */
export function createPagePool(device: PagesDevice): PagePool {
  const { limits, bindingBytes, software } = device
  const { maxBufferSize } = limits
  const create: SlabMaker['create'] = (bytes, label) => device.create(Math.min(bytes, maxBufferSize), label)
  const mostBytes = Math.min(maxBufferSize, software ? SLAB_BYTES.software : SLAB_BYTES.hardware)
  return new PagePool({ ...device, create, mostBytes, mostRunBytes: bindingBytes })
}

/** Bytes that are to be free of each sort of slabs where structures may have so many. */
export function reserveFor(structureBytes: number, software: boolean): number {
  const most = software ? RESERVE_BYTES.software : RESERVE_BYTES.hardware
  return Math.min(most, structureBytes / 16)
}
