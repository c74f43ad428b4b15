/** Where each of some lists ends once they follow each other, with 0 before the first. */
export function offsetsOf(lists: readonly { readonly length: number }[]): Uint32Array {
  const offsets = new Uint32Array(lists.length + 1)
  lists.forEach(({ length }, i) => {
    offsets[i + 1] = offsets[i] + length
  })
  return offsets
}

export function word(value: number): Uint8Array {
  return new Uint8Array(new Uint32Array([value]).buffer)
}

export function wordsOf(column: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(column).buffer)
}

export function concat(columns: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(columns.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let position = 0
  for (const column of columns) {
    joined.set(column, position)
    position += column.byteLength
  }
  return joined
}
