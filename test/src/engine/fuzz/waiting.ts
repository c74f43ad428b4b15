import { WarpdexError } from '../../../../protocol/errors.js'

/** What takes several turns of an index or a relation may find it gone. */
export async function unlessDropped(
  asked: { readonly isDropped: boolean },
  work: Promise<unknown>,
): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!asked.isDropped || !isOf(error, 'UNKNOWN_INDEX', 'UNKNOWN_RELATION')) throw error
  }
}

/** Sends a request again and again while the device is lost. */
export async function untilAnswered<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!isOf(error, 'DEVICE_LOST')) throw error
    }
  }
}

function isOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof WarpdexError && codes.includes(error.code)
}
