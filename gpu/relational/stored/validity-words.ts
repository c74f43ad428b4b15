/**
 * The words of a validity bitmap that rows from number `first` on add to it.
 *
 * @param last the word that row `first` lies in, as it is so far; of interest only where that is not its first row
 * @param validity bits of the new rows, as in `ColumnValues`; all have values without it
 * @returns the words from that of row `first` on
 */
export function validityWords(
  last: number,
  first: number,
  rows: number,
  validity: Uint8Array | undefined,
): Uint32Array {
  const shift = first % 32
  const words = new Uint32Array(Math.ceil((shift + rows) / 32))
  if (words.length === 0) return words
  const bits = validity === undefined ? onesOf(rows) : wordsOf(validity)
  words[0] = shift === 0 ? 0 : last & ((1 << shift) - 1)
  for (let i = 0; i < bits.length; i++) {
    words[i] |= bits[i] << shift
    if (shift > 0 && i + 1 < words.length) words[i + 1] = bits[i] >>> (32 - shift)
  }
  return words
}

function onesOf(rows: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(rows / 32)).fill(0xffffffff)
  if (rows % 32 > 0) words[words.length - 1] = 2 ** (rows % 32) - 1
  return words
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(bytes.length / 4))
  new Uint8Array(words.buffer).set(bytes)
  return words
}
