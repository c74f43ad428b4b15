import { scattered } from '../../keys.js'
import { THREAD_SPLIT_PARTS } from './thread-split.js'

/** Keys of each part, and a checksum of them that any order gives. */
function describe(keys: Uint32Array): Uint32Array {
  const parts = new Uint32Array(2 * THREAD_SPLIT_PARTS)
  for (const key of keys) {
    const part = key % THREAD_SPLIT_PARTS
    parts[2 * part]! += 1
    parts[2 * part + 1]! += scattered(key)
  }
  return parts
}

/** A check that a result has the given keys, part after part. */
export function splitCheck(name: string, keys: Uint32Array): (found: Uint32Array) => void {
  const wanted = describe(keys)
  return (found) => {
    const early = found.findIndex(
      (key, i) => i > 0 && key % THREAD_SPLIT_PARTS < found[i - 1]! % THREAD_SPLIT_PARTS,
    )
    if (early >= 0) throw new Error(`${name}: key ${early} is of a part before its neighbour's`)
    const parts = describe(found)
    if (wanted.some((word, i) => word !== parts[i])) throw new Error(`${name}: other keys than went in`)
  }
}
