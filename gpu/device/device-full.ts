import { WarpdexError } from '../../protocol/errors.js'

/**
 * The device has no room left. It may have some once others give memory back; what is larger than a binding, or than one
 * structure may own, is refused by a plain `OUT_OF_DEVICE_MEMORY` instead.
 */
export class DeviceFull extends WarpdexError {
  constructor(message: string) {
    super('OUT_OF_DEVICE_MEMORY', message)
  }
}

/** The error for memory that a device does not have. */
export function noRoom(bytes: number, label: string): WarpdexError {
  return new DeviceFull(`the device has no room for ${bytes} bytes of ${label}`)
}
