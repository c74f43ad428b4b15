const UNITS = ['', 'K', 'M', 'G', 'T']

/** A number of bytes with the largest unit of which it is a multiple, as settings may have it. */
export function sizeText(bytes: number): string {
  let power = 0
  while (bytes >= 1024 && bytes % 1024 === 0 && power < UNITS.length - 1) {
    bytes /= 1024
    power++
  }
  return `${bytes}${UNITS[power]}`
}

/** The bytes that a size means, such as 256M, 256MiB or 1048576; undefined for another text. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit] = /^(\d+)(?:([KMGT])(?:i?B)?)?$/i.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits) * 1024 ** UNITS.indexOf((unit ?? '').toUpperCase())
}
