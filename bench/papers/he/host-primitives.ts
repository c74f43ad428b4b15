import { keysWithRows } from './host-join.js'

export function scattered(words: Uint32Array, indices: Uint32Array): Uint32Array {
  const output = new Uint32Array(words.length)
  for (let i = 0; i < words.length; i++) output[indices[i]!] = words[i]!
  return output
}

export function prefixSums(words: Uint32Array): Uint32Array {
  let sum = 0
  return words.map((word) => {
    const before = sum
    sum = (sum + word) >>> 0
    return before
  })
}

/** Keys part after part. */
export function splitWords(words: Uint32Array, parts: Uint32Array, fanOut: number): Uint32Array {
  const next = new Uint32Array(fanOut + 1)
  for (const part of parts) next[part + 1]! += 1
  for (let part = 0; part < fanOut; part++) next[part + 1]! += next[part]!
  const split = new Uint32Array(words.length)
  for (let i = 0; i < words.length; i++) {
    split[next[parts[i]!]!] = words[i]!
    next[parts[i]!]! += 1
  }
  return split
}

/** Keys in order; sorted together with their rows, as the device sorts them. */
export function sortedKeys(words: Uint32Array): Uint32Array {
  const sorted = new Uint32Array(keysWithRows(words).sort().buffer)
  return words.map((_, i) => sorted[2 * i + 1]!)
}
