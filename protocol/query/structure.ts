/** A text that is the same for what is equal in structure, but for paths: trees of plain values that were checked. */
export function structureOf(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (key === 'path') return undefined
    if (typeof part === 'bigint') return { bigint: String(part) }
    return typeof part === 'number' && !Number.isSafeInteger(part) ? { number: String(part) } : part
  })
}
