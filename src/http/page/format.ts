const SCALES = ['', ' k', ' M', ' G', ' T']
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** What is less than this share below the next unit would be rounded up to it. */
const ROUNDED = 0.9995

/** Three digits at most, without an end of zeros. */
function short(value: number): string {
  return String(Number(value.toPrecision(3)))
}

function scaled(value: number, base: number, units: readonly string[]): { value: number; unit: string } {
  let rest = value
  let step = 0
  while (rest >= base * ROUNDED && step < units.length - 1) {
    rest /= base
    step++
  }
  return { value: rest, unit: units[step] }
}

/** A number of things: 1.25 M. */
export function amount(value: number): string {
  if (value < 1000) return short(Math.round(value * 10) / 10)
  const { value: rest, unit } = scaled(value, 1000, SCALES)
  return `${short(rest)}${unit}`
}

/** A whole number with its digits in groups. */
export function whole(value: number): string {
  return value.toLocaleString('en')
}

export function bytes(value: number): string {
  const { value: rest, unit } = scaled(value, 1024, BYTE_UNITS)
  return `${rest >= 1000 ? Math.round(rest) : short(rest)} ${unit}`
}

export function microseconds(value: number): string {
  if (value <= 1) return '< 1 µs'
  if (value < 1000) return `${Math.round(value)} µs`
  if (value < 1e6) return `${short(value / 1000)} ms`
  return `${short(value / 1e6)} s`
}

export function milliseconds(value: number): string {
  return microseconds(value * 1000)
}

/** A span of seconds in its two largest units. */
export function span(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ] as const
  const first = parts.findIndex(([value]) => value > 0)
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2)
  return shown.map(([value, unit]) => `${value} ${unit}`).join(' ')
}

/** A time of day. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}
