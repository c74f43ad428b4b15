import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether two secrets are equal, in a time that does not tell how much of them is. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
