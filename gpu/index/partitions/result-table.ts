import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'

/** Keys to be found, on the device. */
export interface KeyColumn {
  /** Keys, or records of keys of variable length. */
  readonly keys: GPUBuffer
  /** Where those records lead. */
  readonly heap: GPUBuffer | undefined
}

/** The queries of a batch that are found together, and the table for their intermediate results. */
export interface Piece {
  readonly queries: KeyColumn
  /** The tree's shape, with the form in which the keys come. */
  readonly word: number
  readonly first: number
  readonly length: number
  /** A word for each query and partition; `speculative.wesl` says what it holds. */
  readonly results: GPUBuffer
}

/** Words of a result table at most: batches for which it would be larger are cut. A few times what fills a device is enough. */
const TABLE_WORDS = { hardware: 2 ** 26, software: 2 ** 22 }

/**
 * The number of queries whose results fit a table.
 * @throws WarpdexError `TOO_LARGE` when a single one's do not
 */
export function queriesAtOnce(device: Device, partitions: number): number {
  const words = TABLE_WORDS[device.facts.software ? 'software' : 'hardware']
  const most = Math.floor(Math.min(words, device.facts.bindingBytes / 4) / partitions)
  if (most > 0) return most
  throw new WarpdexError(
    'TOO_LARGE',
    `the index has ${partitions} partitions, and a table of their results has room for ${words}; use strategy directed or sequential`,
  )
}
