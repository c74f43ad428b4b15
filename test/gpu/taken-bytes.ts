import type { Device } from '../../gpu/device/device.js'

/** Bytes of pages that somebody has. */
export function takenBytes({ pages }: Device): number {
  return pages.figures().reduce((sum, { bytes, freeBytes }) => sum + bytes - freeBytes, 0)
}
