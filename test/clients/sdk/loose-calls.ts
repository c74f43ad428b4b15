/** Anything, for a parameter of any type: as from plain JavaScript. */
export const loosely = (value: unknown) => value as never

/** What a call ends with, once all that it gives was waited for. */
export async function failureOf(
  call: () => unknown,
): Promise<{ readonly error: unknown; readonly thrown: boolean }> {
  let given: unknown
  try {
    given = call()
  } catch (error) {
    return { error, thrown: true }
  }
  try {
    const value: unknown = await given
    if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) {
      for await (const _ of value as AsyncIterable<unknown>) break
    }
    return { error: undefined, thrown: false }
  } catch (error) {
    return { error, thrown: false }
  }
}

/** What no query is, nor any message. */
export function cyclic(): object {
  const node: Record<string, unknown> = { op: 'distinct' }
  node.input = node
  return node
}
