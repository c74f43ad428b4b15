import type { Device } from '../device/device.js'
import type { Scan } from './prefix-scan.js'
import { pairBuffers, type Sort, type SortedPairs, type UnsortedPairs } from './sort.js'
import { groupsFor } from './strategy.js'

/** Pairs of a tile, digits of a pass and their bits; `serial-sort.wesl` has the same numbers. */
const TILE_PAIRS = 1024
const DIGITS = 256
const DIGIT_BITS = 8

/** The stable radix sort for CPUs (`serial-sort.wesl`): a count, a scan and a scatter for each byte of the keys. */
export function serialSort(device: Device, scan: Scan): Sort {
  const entryPoints = ['count_digits', 'scatter_tiles'] as const
  const kernelsOf = (wide: boolean) => device.kernels('primitives/serial-sort', entryPoints, { wide })
  const kernels = { 1: kernelsOf(false), 2: kernelsOf(true) }
  return (recorder, scratch, keys, values, count, keyWords, { bits = keyWords * 32, from = 0 } = {}) => {
    const { count_digits: countDigits, scatter_tiles: scatterTiles } = kernels[keyWords]
    const allocate = (): SortedPairs => ({
      keys: scratch.words(count * keyWords),
      values: scratch.words(count),
    })
    let sorted = allocate()
    if (count === 0) return sorted
    const tiles = Math.ceil(count / TILE_PAIRS)
    const groups = groupsFor('serial', tiles)
    const places = scratch.words(DIGITS * tiles)
    let source: UnsortedPairs = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = from; shift < bits; shift += DIGIT_BITS) {
      if (shift > from) [sorted, spare] = [spare ?? allocate(), sorted]
      const buffers = { ...pairBuffers(source, sorted), histograms: places, places }
      const pass = { count, tiles, shift, bits: Math.min(DIGIT_BITS, bits - shift) }
      const params = { ...pass, positions: source.values === undefined ? 1 : 0 }
      recorder.dispatchGroups(countDigits, buffers, params, groups)
      scan(recorder, scratch, places, places, DIGITS * tiles)
      recorder.dispatchGroups(scatterTiles, buffers, params, groups)
      source = sorted
    }
    return sorted
  }
}
