/** Characters of a value that messages show. */
const SHOWN = 40

/** A value of any kind as messages quote it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN))
  if (typeof value === 'bigint') return `${String(value).slice(0, SHOWN)}n`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (!Array.isArray(value)) return titleOf(value)
  const elements = Array.from(value.slice(0, SHOWN), (element: unknown) =>
    Array.isArray(element) ? 'a list' : shown(element),
  )
  return `[${elements.join(', ').slice(0, SHOWN)}]`
}

/** A value of JSON as messages quote it, cut where it is long. */
export function quoted(value: unknown, most = SHOWN): string {
  return cut(JSON.stringify(value) ?? String(value), most)
}

/** A text in quotes, cut where it is long. */
export function quotedText(text: string): string {
  return JSON.stringify(cut(text, SHOWN))
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** What kind of thing a value is. */
export function titleOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  const name: unknown = typeof value === 'object' ? value.constructor?.name : typeof value
  const kind = typeof name === 'string' && name !== '' ? name : 'object'
  return `${/^(?!Uint|URL)[aeiou]/i.test(kind) ? 'an' : 'a'} ${kind}`
}

/** Whether something gives its elements one after the other. */
export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

/** As `Array.isArray`, also of lists that nobody may change. */
export function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value)
}
